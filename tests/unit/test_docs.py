# SPDX-License-Identifier: Apache-2.0
"""The tables of the other systems' lines are complete, and every test that they name exists."""

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


ACCEPTED = re.findall(
    r"^\| ([XDMP]\d+) \| .+ \| (met|differs|open) \| (.*) \| (.*) \|$",
    (ROOT / "docs/acceptance.md").read_text("utf-8"),
    re.MULTILINE,
)
COUNTS = {"X": 59, "D": 60, "M": 33, "P": 29}


def test_every_line_of_the_other_systems_has_one_row():
    wanted = [f"{system}{number}" for system, count in COUNTS.items() for number in range(1, count + 1)]
    assert [row[0] for row in ACCEPTED] == wanted


@pytest.mark.parametrize(("line", "state", "words", "places"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_tests_of_accepted_lines_exist(line, state, words, places):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", places)
    assert re.sub(r"`[^`]+`|, ", "", places) == "", "only tests may stand in the last column"
    assert named or state == "open"
    assert words or state == "met", "why it is not as there"
    for path, test in named:
        assert re.search(rf"^ *def {test}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE), f"{path}::{test}"


def test_every_threat_names_tests_that_exist():
    """Each row of SECURITY.md names files below `tests` or `native`; `::name` alone is a test of the file before it."""
    rows = re.findall(r"^\| (?!threat|---)(.+) \| (.+) \|$", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) >= 20
    for threat, places in rows:
        file = Path()
        for place, _, test in (named.partition("::") for named in re.findall(r"`([^`]+)`", places)):
            if place:
                file = ROOT / place if place.startswith("native/") else ROOT / "tests" / place
            assert file.exists(), f"{threat}: {place}"
            assert not test or re.search(rf"def {test}\(", file.read_text("utf-8")), f"{threat}: {place}::{test}"
