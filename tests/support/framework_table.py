# SPDX-License-Identifier: Apache-2.0
"""The table of docs/frameworks.md: framework, version, what a test has run."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


class Tested(NamedTuple):
    """What one passed test stands for."""

    name: str
    packages: tuple[str, ...]
    shows: str


def write_table(path: Path, tested: list[Tested]) -> None:
    """Put the rows between the two marks of a document."""
    text = path.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, also_found, after = rest.partition(END)
    assert found, f"{path} has no place for the table"
    assert also_found, f"the table of {path} has no end"
    path.write_text(f"{before}{BEGIN}\n{rendered(tested)}{END}{after}", encoding="utf-8")


def rendered(tested: list[Tested]) -> str:
    """One row for each framework, in the order of their names."""
    rows: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for one in sorted(tested, key=lambda one: one.name.lower()):
        rows.setdefault((one.name, one.packages), {})[one.shows] = None
    lines = ["| framework | tested with | what was tested |", "|---|---|---|"]
    for (name, packages), shows in rows.items():
        versions = ", ".join(f"{package} {version(package).partition('+')[0]}" for package in packages)
        lines.append(f"| {name} | {versions} | {'; '.join(shows)} |")
    return "\n".join(lines) + "\n"
