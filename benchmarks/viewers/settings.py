# SPDX-License-Identifier: Apache-2.0
"""What a run of the reading benchmark was asked for, and what its cases hand back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics import Metric, Results
from viewers.children import Child
from viewers.programs import ABOARD, FAST, SLOW
from viewers.worksets import FULL, QUICK, ScalarSet, WorkSets


@dataclass(frozen=True)
class Settings:
    rounds: int
    quick: bool
    folder: Path  # of the work sets
    legacy: str  # how much --load_fast=false is given to read: none, part or whole

    @property
    def sets(self) -> WorkSets:
        return QUICK if self.quick else FULL

    @property
    def programs(self) -> list[str]:
        return [ABOARD, FAST] if self.legacy == "none" else [ABOARD, FAST, SLOW]

    def turns(self, what: str, programs: Sequence[str], rounds: int | None = None) -> Iterator[tuple[int, str]]:
        """Each program once in each round, with a line on the terminal that says so."""
        rounds = rounds or self.rounds
        for number in range(rounds):
            for program in programs:
                say(f"{what}: round {number + 1} of {rounds}, {program}")
                yield number, program
        say("")


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    metrics: tuple[Metric, ...]
    results: Results
    notes: tuple[str, ...] = ()


def say(text: str) -> None:
    """One line on the terminal that the next one replaces."""
    end = "\r" if not text else ""
    print(f"\r{text:90}", end=end, file=sys.stderr, flush=True)


def run_worker(kind: str, environment: Mapping[str, str] | None = None, **order: Any) -> dict[str, float]:
    """Numbers of aboard's reader in a fresh process; `whole_s` runs from its start on."""
    command = [sys.executable, "-m", "viewers.worker", kind, json.dumps(order)]
    with Child(command, environment) as child:
        match, _ = child.wait_for(r"^\{.*\}$", timeout=600)
        child.wait()
    result = json.loads(match[0])
    if "ready" in result:
        result["whole_s"] = result.pop("ready") - child.started
    return result


def check_read(work: ScalarSet, result: Mapping[str, float]) -> None:
    """That aboard holds every point, and found no damage."""
    found = {key: int(result[key]) for key in ("runs", "series", "points", "damaged")}
    expected = {"runs": work.runs, "series": work.runs * work.tags, "points": work.total, "damaged": 0}
    lasts = {int(result[key]) for key in ("smallest_last_step", "largest_last_step")}
    if found != expected or lasts != {work.points - 1}:
        raise SystemExit(f"aboard read {found} of {work}, up to step {lasts}")
