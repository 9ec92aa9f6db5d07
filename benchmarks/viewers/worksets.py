# SPDX-License-Identifier: Apache-2.0
"""What is opened: folders of event files, written once by aboard's own writer and used again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard._native import EventLog
from viewers.media import write_media

_FIRST_WALL_TIME = 1_700_000_000.0
_SECONDS_PER_STEP = 0.25
_MARK = "v1"  # changes with the content of the sets


@dataclass(frozen=True)
class ScalarSet:
    """Each run logs all its tags at every step, as a training loop does."""

    name: str
    runs: int
    tags: int
    points: int

    @property
    def total(self) -> int:
        return self.runs * self.tags * self.points

    @property
    def run_names(self) -> list[str]:
        return [f"run{number:04d}" for number in range(self.runs)]

    @property
    def tag_names(self) -> list[str]:
        return [f"layer{number:02d}/loss" for number in range(self.tags)]

    def __str__(self) -> str:
        return f"{self.name} ({self.runs:,} × {self.tags:,} × {self.points:,})"

    def below(self, folder: Path) -> Path:
        """The set's folder in the folder of all sets, written now unless it is there."""
        return _made(folder / f"{self.name}-{self.runs}x{self.tags}x{self.points}-{_MARK}", self._write)

    def part(self, folder: Path, runs: int) -> tuple[ScalarSet, Path]:
        """The first runs alone, in a folder of links."""
        smaller = ScalarSet(self.name, min(runs, self.runs), self.tags, self.points)
        if smaller == self:
            return self, self.below(folder)
        linked = folder / f"{self.name}-{smaller.runs}of{self.runs}x{self.tags}x{self.points}-{_MARK}"
        whole = self.below(folder)
        return smaller, _made(linked, lambda place: link_runs(whole, place, smaller.run_names))

    def _write(self, place: Path) -> None:
        rng, tags = np.random.default_rng(1), self.tag_names
        falling = np.exp(-np.arange(self.points) / max(1, self.points / 5))
        for number, run in enumerate(self.run_names):
            (place / run).mkdir(parents=True)
            log = EventLog(os.fsencode(place / run), "benchmark")
            values = (falling + 0.05 * rng.standard_normal(self.points)).tolist()
            begin = _FIRST_WALL_TIME + number * 60
            for step, value in enumerate(values):
                wall_time = begin + step * _SECONDS_PER_STEP
                for tag in tags:
                    log.add_scalar(tag, value, step, wall_time)
            log.close()


@dataclass(frozen=True)
class MediaSet:
    """Pictures, sounds, histograms, texts and some scalars."""

    name: str
    megabytes: int

    def __str__(self) -> str:
        return f"{self.name} ({self.megabytes:,} MB of media)"

    def below(self, folder: Path) -> Path:
        return _made(
            folder / f"{self.name}-{self.megabytes}MB-{_MARK}", lambda place: write_media(place, self.megabytes)
        )


@dataclass(frozen=True)
class WorkSets:
    a: ScalarSet
    b: ScalarSet
    c: ScalarSet
    d: ScalarSet
    e: MediaSet
    e_quarter: MediaSet
    # As A to a program that keeps a thousand points of each series, but read in seconds.
    short_a: ScalarSet


FULL = WorkSets(
    a=ScalarSet("A", 3, 10, 50_000),
    b=ScalarSet("B", 200, 50, 200),
    c=ScalarSet("C", 1_000, 20, 500),
    d=ScalarSet("D", 1, 1, 10_000_000),
    e=MediaSet("E", 1_000),
    e_quarter=MediaSet("E", 250),
    short_a=ScalarSet("A", 3, 10, 2_000),
)
QUICK = WorkSets(
    a=ScalarSet("A", 3, 10, 5_000),
    b=ScalarSet("B", 20, 10, 100),
    c=ScalarSet("C", 50, 10, 100),
    d=ScalarSet("D", 1, 1, 300_000),
    e=MediaSet("E", 40),
    e_quarter=MediaSet("E", 10),
    short_a=ScalarSet("A", 3, 10, 1_500),
)


def link_runs(source: Path, place: Path, names: list[str]) -> None:
    """Runs of `source` once more below `place`, without a copy of their bytes."""
    for name in names:
        (place / name).mkdir(parents=True)
        for file in (source / name).iterdir():
            os.link(file, place / name / file.name)


def warm(folder: Path) -> None:
    """Read every byte once, so that no program pays for the disk."""
    for file in folder.rglob("*tfevents*"):
        with file.open("rb", buffering=0) as content:
            while content.read(1 << 20):
                pass


def _made(place: Path, write: Callable[[Path], None]) -> Path:
    """`place`, which exists only when it is complete."""
    if not place.exists():
        unfinished = place.with_name(place.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write(unfinished)
        unfinished.rename(place)
    return place
