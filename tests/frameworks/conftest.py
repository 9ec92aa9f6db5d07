# SPDX-License-Identifier: Apache-2.0
"""Writes docs/frameworks.md from the tests that passed, when asked to: `make frameworks-table`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.framework_table import Tested, write_table

_passed: list[Tested] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--framework-table", metavar="FILE", help="Write what was tested into this document.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    if report.when == "call" and report.passed:
        for marker in item.iter_markers("framework"):
            name, *packages = marker.args
            _passed.append(Tested(name, tuple(packages), marker.kwargs["shows"]))
    return report


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    path = session.config.getoption("--framework-table")
    if path and exitstatus == 0:
        write_table(Path(path), _passed)
