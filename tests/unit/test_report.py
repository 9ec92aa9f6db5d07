# SPDX-License-Identifier: Apache-2.0
"""The report of a test run says what its executors were tried on, also by workers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from support import what_was_real

CONFTEST = str(Path(__file__).parents[1] / "conftest.py")


class Reporter:
    """The terminal at the end of a test run."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.section = self.write_line = self.lines.append


def test_what_was_real_stands_at_the_end_of_a_report(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_was_real, "_SEEN", {})
    hooks = pytestconfig.pluginmanager.get_plugin(CONFTEST)
    reporter = Reporter()
    hooks.pytest_terminal_summary(reporter)
    assert reporter.lines == [], "no executor was tried"
    what_was_real.kubernetes_stood_on_own_server(has_node=False)
    session = SimpleNamespace(config=SimpleNamespace(workeroutput={}))
    hooks.pytest_sessionfinish(session)
    monkeypatch.setattr(what_was_real, "_SEEN", {})  # the worker has ended
    sent = {"executors": session.config.workeroutput["executors"]}
    hooks.pytest_testnodedown(SimpleNamespace(workeroutput=sent))
    hooks.pytest_terminal_summary(reporter)
    title, line = reporter.lines
    assert title == "executors: what was real"
    assert line.startswith("kubernetes: real: the official client ")
    assert "the tests' own: API server at the HTTP level" in line
