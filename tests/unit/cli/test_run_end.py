# SPDX-License-Identifier: Apache-2.0
"""The end of `aboard run`: what completed stays completed, whoever asks for the end in the last moment."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Callable
from typing import Any, cast

import pytest

from aboard.cli.run import RunOptions, run

run_command = importlib.import_module("aboard.cli.run")  # the package has a command of that name


def _run(monkeypatch: pytest.MonkeyPatch, code: int, source_is_done: Callable[[], None]) -> int:
    monkeypatch.setattr(run_command, "make_request", lambda _: (None, source_is_done))
    monkeypatch.setattr(run_command, "supervise", lambda *_: code)
    return run(cast("RunOptions", cast("Any", type("Options", (), {"quiet": True}))))


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_the_source_is_given_back_is_not_heard(
    monkeypatch: pytest.MonkeyPatch, asked: signal.Signals
) -> None:
    heard: list[int] = []
    earlier = signal.signal(asked, lambda number, _: heard.append(number))
    try:
        assert _run(monkeypatch, 0, lambda: signal.raise_signal(asked)) == 0
        assert heard == []
        signal.raise_signal(asked)
        assert heard == [asked], "signals do again what they did"
    finally:
        signal.signal(asked, earlier)


def test_a_source_is_kept_for_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, 1, lambda: pytest.fail("it may be submitted again")) == 1
