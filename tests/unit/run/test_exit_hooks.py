# SPDX-License-Identifier: Apache-2.0
"""Runs that overlap, as trials of a search do: the end of a process reaches those that go on, and no other stays."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from aboard.run.training.exit_hooks import ExitHooks

MANY = 3 * sys.getrecursionlimit()


class Trial:
    def __init__(self) -> None:
        self.signals: list[str] = []

    def ended_by_exception(self, error: BaseException) -> None: ...

    def signalled(self, name: str) -> None:
        self.signals.append(name)

    def process_ends(self, exit_code: object) -> None: ...


def _in_a_thread(ending: ExitHooks) -> None:
    thread = threading.Thread(target=ending.remove)
    thread.start()
    thread.join()


@pytest.mark.parametrize("remove", [ExitHooks.remove, _in_a_thread], ids=["here", "by another thread"])
def test_overlapping_runs_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch, remove) -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    try:
        trial = Trial()
        newest = ExitHooks(trial)
        for _ in range(MANY):
            trial, older, newest = Trial(), newest, None
            newest = ExitHooks(trial)
            remove(older)
        signal.raise_signal(signal.SIGTERM)
        assert trial.signals == ["SIGTERM"]
        with pytest.raises(SystemExit):
            sys.exit(3)
        remove(newest)
        signal.raise_signal(signal.SIGTERM)
        assert (trial.signals, told) == (["SIGTERM"], [signal.SIGTERM, signal.SIGTERM])
        assert sys.excepthook is sys.__excepthook__
    finally:
        signal.signal(signal.SIGTERM, before)
