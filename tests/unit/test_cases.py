# SPDX-License-Identifier: Apache-2.0
"""Tests that loop over a table call every case and report each that fails."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from support.cases import all_cases


def test_every_failing_case_is_reported() -> None:
    @all_cases("number", [1, 2, 3, 4])
    def is_odd(number: int) -> None:
        if number == 4:
            pytest.fail("four")
        assert number % 2 == 1

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases failed") as caught:
        is_odd()
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: number=2"], ["case: number=4"]]


def test_two_tables_give_all_combinations_and_leave_fixtures_to_pytest(tmp_path: Path) -> None:
    seen: list[tuple[Path, int, str, str]] = []

    @all_cases("number", [1, 2])
    @all_cases(("first", "second"), [("a", "b"), ("c", "d")])
    def note(tmp_path: Path, number: int, first: str, second: str) -> None:
        seen.append((tmp_path, number, first, second))

    assert list(inspect.signature(note).parameters) == ["tmp_path"]
    note(tmp_path=tmp_path)
    assert seen == [(tmp_path, number, *pair) for number in (1, 2) for pair in (("a", "b"), ("c", "d"))]


def test_a_table_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="cannot fail"):
        all_cases("number", [])
