# SPDX-License-Identifier: Apache-2.0
"""The event files of one folder in time: attempts that follow each other, and writers that overlap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from aboard.events.file_names import segment_of
from aboard.exchange.examined_file import ExaminedFile
from aboard.exchange.findings import Finding
from aboard.exchange.wording import count, duration, local_time, utc_time

_MOST_NAMED = 20  # files that a finding names; all are counted


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What one writer wrote into one file: that file, or all segments in which it was shipped."""

    parts: list[ExaminedFile]  # in their order; each has events
    name: str  # under which it was written

    @property
    def first_wall_time(self) -> float:
        """Of the first event."""
        return self.parts[0].first_wall_time

    @property
    def last_wall_time(self) -> float:
        """The latest."""
        return max(part.last_wall_time for part in self.parts)

    @property
    def has_points(self) -> bool:
        """Whether there is more than the header that every writer begins with."""
        return any(part.has_points for part in self.parts)

    @property
    def lowest_step(self) -> int:
        """Of all points."""
        return min((part.lowest_step for part in self.parts if part.lowest_step is not None), default=0)

    @property
    def highest_step(self) -> int:
        """Of all points."""
        return max((part.highest_step for part in self.parts if part.highest_step is not None), default=0)


def written_files(files: Sequence[ExaminedFile]) -> list[WrittenFile]:
    """Files with events as their writers knew them, in the order in which a logdir takes them."""
    parts: dict[tuple[str, bool], list[tuple[int, ExaminedFile]]] = {}
    for file in files:
        if file.records:
            name, number = segment_of(file.path.name) or (file.path.name, -1)
            parts.setdefault((name, number < 0), []).append((number, file))
    written = [
        WrittenFile([file for _, file in sorted(numbered, key=itemgetter(0))], name)
        for (name, _), numbered in parts.items()
    ]
    return sorted(written, key=lambda file: (file.first_wall_time, file.name))


def attempts_of(files: Sequence[WrittenFile]) -> list[list[WrittenFile]]:
    """Written files in their order, grouped as a logdir groups them: later than all before begins a new attempt."""
    attempts: list[list[WrittenFile]] = []
    latest = -math.inf
    for file in files:
        if not attempts or file.first_wall_time > latest:
            attempts.append([])
        attempts[-1].append(file)
        latest = max(latest, file.first_wall_time, file.last_wall_time)
    return attempts


def findings_in_folder(folder: Path, files: Sequence[ExaminedFile]) -> Iterator[Finding]:
    """Overlapping writers and restarts. Files without a point disturb nobody."""
    attempts = attempts_of([file for file in written_files(files) if file.has_points])
    for attempt in attempts:
        if len(attempt) > 1:
            yield _overlap(folder, attempt)
    if len(attempts) > 1:
        yield _restarts(folder, attempts)
        yield from _hidden(folder, attempts)


def _overlap(folder: Path, files: list[WrittenFile]) -> Finding:
    begin, end, latest = math.inf, -math.inf, -math.inf
    for file in files:
        if file.first_wall_time <= latest:
            begin = min(begin, file.first_wall_time)
            end = max(end, min(latest, file.last_wall_time))
        latest = max(latest, file.last_wall_time)
    words = f"{count(len(files), 'file')} were written at the same time"
    if math.isfinite(begin) and math.isfinite(end):
        words += f", between {local_time(begin)} and {local_time(end)} ({duration(end - begin)})"
    details = {**_named(files), "from": utc_time(begin), "to": utc_time(end)}
    return Finding("overlapping-writers", str(folder), words, details=details)


def _restarts(folder: Path, attempts: list[list[WrittenFile]]) -> Finding:
    starts = [min(file.lowest_step for file in attempt) for attempt in attempts]
    shown = ", ".join(f"{step:,}" for step in starts[:_MOST_NAMED])
    more = ", …" if len(starts) > _MOST_NAMED else ""
    words = f"{len(attempts):,} attempts, which begin at steps {shown}{more}"
    details = [
        {
            **_named(attempt),
            "first_step": start,
            "from": utc_time(attempt[0].first_wall_time),
            "to": utc_time(max(file.last_wall_time for file in attempt)),
        }
        for attempt, start in zip(attempts[:_MOST_NAMED], starts, strict=False)
    ]
    return Finding("restarts", str(folder), words, details={"attempts": details, "count": len(attempts)})


def _hidden(folder: Path, attempts: list[list[WrittenFile]]) -> Iterator[Finding]:
    """An attempt that got further than all later ones, of which one began below its end."""
    latest_end, lowest_start = None, None  # of the attempts after this one
    for number in range(len(attempts), 0, -1):
        attempt = attempts[number - 1]
        start = min(file.lowest_step for file in attempt)
        end = max(file.highest_step for file in attempt)
        if latest_end is not None and lowest_start is not None and end > latest_end and end >= lowest_start:
            words = (
                f"attempt {number:,} reached step {end:,}, but a later one began at step {lowest_start:,} and none got "
                f"beyond {latest_end:,}: boards hide the points from {lowest_start:,} on"
            )
            details = {**_named(attempt), "attempt": number, "first_hidden_step": lowest_start, "last_step": end}
            yield Finding("hidden-points", str(folder), words, details=details)
        latest_end = end if latest_end is None else max(latest_end, end)
        lowest_start = start if lowest_start is None else min(lowest_start, start)


def _named(files: list[WrittenFile]) -> dict[str, object]:
    return {"files": [str(file.parts[0].path) for file in files[:_MOST_NAMED]], "files_in_all": len(files)}
