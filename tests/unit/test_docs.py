# SPDX-License-Identifier: Apache-2.0
"""The table of tensorboardX's lines is complete, and every test that it names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| T(\d+) \| (.+) \| (.+) \|$", (ROOT / "docs/tensorboardx-lines.md").read_text("utf-8"), re.MULTILINE
)


def test_every_line_has_one_row():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 62))


@pytest.mark.parametrize(("number", "words", "places"), ROWS, ids=[f"T{row[0]}" for row in ROWS])
def test_named_tests_exist(number, words, places):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", places)
    assert named
    assert re.sub(r"`[^`]+`|, ", "", places) == "", "only tests may stand in the last column"
    for path, test in named:
        assert re.search(rf"^def {test}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE), f"{path}::{test}"
