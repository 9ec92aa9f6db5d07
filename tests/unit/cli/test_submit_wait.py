# SPDX-License-Identifier: Apache-2.0
"""What `aboard submit --wait` exits with, and Ctrl-C while it waits."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest

from aboard.model.units import EndReason, UnitStatus, state_after
from support.commands import aboard

SUBMITTING = import_module("aboard.cli.jobs")  # its name in the package is that of the command


def _job(name: str) -> SimpleNamespace:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    record = SimpleNamespace(executor="local")
    return SimpleNamespace(id=name, name=name, experiment="rates", record=record, logs=interrupted, wait=interrupted)


def test_a_job_keeps_running(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SUBMITTING, "submit_job", lambda _: _job("try-1"))
    ended = aboard("submit", "--wait", "--", "true")
    assert ended.code == 130
    assert "try-1 keeps running. Follow it with `aboard jobs logs -f try-1`" in ended.err
    assert "end it with `aboard jobs cancel try-1`" in ended.err


def test_a_sweep_keeps_running(monkeypatch: pytest.MonkeyPatch):
    made = SimpleNamespace(jobs=[_job("a"), _job("b")])
    monkeypatch.setattr(SUBMITTING, "submit_sweep", lambda *_: made)
    ended = aboard("submit", "--wait", "--grid", "lr=1,2", "--", "true")
    assert ended.code == 130
    assert "The 2 jobs of rates keep running. List them with `aboard jobs list --experiment rates`." in ended.err


@pytest.mark.parametrize(("states", "code"), [("ss", 0), ("sf", 1), ("fs", 1), ("fsf", 1)])
def test_a_sweep_fails_with_any_of_its_jobs(monkeypatch: pytest.MonkeyPatch, states: str, code: int) -> None:
    made = SimpleNamespace(jobs=[_ended_job(f"job-{place}", state) for place, state in enumerate(states)])
    monkeypatch.setattr(SUBMITTING, "submit_sweep", lambda *_: made)
    assert aboard("submit", "--wait", "--grid", "lr=1,2", "--", "true").code == code


def _ended_job(name: str, state: str) -> SimpleNamespace:
    reason = EndReason.COMPLETED if state == "s" else EndReason.EXITED
    ended = UnitStatus(state=state_after(reason), reason=reason)
    record = SimpleNamespace(executor="local")
    return SimpleNamespace(id=name, name=name, experiment="rates", record=record, wait=lambda **_: ended)
