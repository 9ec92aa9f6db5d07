# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while `aboard submit --wait` waits."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest

from support.commands import aboard

SUBMITTING = import_module("aboard.cli.submit")  # its name in the package is that of the command


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
