# SPDX-License-Identifier: Apache-2.0
"""The tables of the other systems' lines are complete, and every test that they name exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNTS = {"X": 59, "D": 60, "M": 33, "P": 29}


def rows(file: str, pattern: str) -> list[tuple[str, ...]]:
    return re.findall(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)


@cache
def functions(path: str) -> frozenset[str]:
    """The functions and methods of a file; none where there is no file."""
    file = ROOT / path
    return frozenset(re.findall(r"^ *def (\w+)\(", file.read_text("utf-8"), re.MULTILINE) if file.exists() else ())


def faults_in(places: str) -> list[str]:
    """What is wrong with a column that names tests and nothing else."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", places)
    absent = [f"{path}::{test} does not exist" for path, test in named if test not in functions(path)]
    rest = re.sub(r"`tests/[\w/]+\.py::\w+`|, ", "", places)
    return [*absent, *([f"{rest!r} is no test"] if rest else [])]


def test_every_line_of_tensorboardx_has_one_row_that_names_its_tests() -> None:
    lines = rows("docs/tensorboardx-lines.md", r"^\| T(\d+) \| .+ \| (.+) \|$")
    assert [int(number) for number, _ in lines] == list(range(1, 62))
    assert {f"T{number}": faults for number, places in lines if (faults := faults_in(places))} == {}


def test_every_line_of_the_other_systems_has_one_row_that_names_its_tests() -> None:
    lines = rows("docs/acceptance.md", r"^\| ([XDMP]\d+) \| .+ \| (met|differs|open) \| (.*) \| (.*) \|$")
    wanted = [f"{system}{number}" for system, count in COUNTS.items() for number in range(1, count + 1)]
    assert [line for line, *_ in lines] == wanted
    assert {line: faults for line, _, _, places in lines if (faults := faults_in(places))} == {}
    assert [line for line, state, _, places in lines if not places and state != "open"] == [], "they name no test"
    assert [line for line, state, words, _ in lines if not words and state != "met"] == [], "they do not say why"


def test_every_threat_names_tests_that_exist() -> None:
    """Each row of SECURITY.md names files below `tests` or `native`; `::name` alone is a test of the file before it."""
    threats = rows("SECURITY.md", r"^\| (?!threat|---)(.+) \| (.+) \|$")
    assert len(threats) >= 20
    for threat, places in threats:
        file = ""
        for place, _, test in (named.partition("::") for named in re.findall(r"`([^`]+)`", places)):
            if place:
                file = place if place.startswith("native/") else f"tests/{place}"
            assert (ROOT / file).exists(), f"{threat}: {place}"
            assert not test or test in functions(file), f"{threat}: {place}::{test}"
