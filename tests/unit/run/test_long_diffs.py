# SPDX-License-Identifier: Apache-2.0
"""Diffs with very long lines are masked in linear time: a run must not wait for hours before it begins.

With an expression that backtracks, each of these would take from minutes to years, so the timeout of the suite ends it.
"""

from __future__ import annotations

import pytest

from aboard.run.secrets import MASK, Secrets

LENGTH = 1 << 20
BACKSLASH = chr(92)


@pytest.mark.parametrize(
    "line",
    [
        "a" * LENGTH,
        "a-" * (LENGTH // 2),
        "a." * (LENGTH // 2),
        f'x = "{"0a" * (LENGTH // 2)}',
        f'token = "{BACKSLASH * 101}',
        " " * LENGTH + "x!",
        "- " * (LENGTH // 2) + "!",
        f'word{" " * LENGTH}"',
    ],
    ids=["word", "dashes", "dots", "digits", "backslashes", "spaces", "lists", "trailing-spaces"],
)
def test_a_long_line_without_a_secret_stays_as_it_is(line: str) -> None:
    diff = f"+{line}\n+api_key = 'hunter2222'\n"
    assert Secrets([]).mask_diff(diff) == f"+{line}\n+api_key = '{MASK}'\n"


def test_a_bare_value_with_spaces_and_a_later_quote_is_looked_at_once() -> None:
    line = f'+TOKEN=x{" " * LENGTH}"'
    assert Secrets([]).mask_diff(line) == line
