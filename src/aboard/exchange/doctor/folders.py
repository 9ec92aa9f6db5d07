# SPDX-License-Identifier: Apache-2.0
"""Inspects how event files fit together: unreadable folders, attempts and writers that overlap, and duplicates."""

from __future__ import annotations

import errno
import hashlib
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from aboard.events.event import is_event_file, segment_of
from aboard.exchange.doctor.findings import Finding
from aboard.exchange.doctor.inspection import ExaminedFile
from aboard.foundation.text import count, duration, local_time, plain, size, utc_time

# As for a board: links may make one folder appear in several places, and few links can make it very many.
_MOST_WAYS_INTO_A_FOLDER = 64
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WalkedFolder:
    """One folder that was entered, named from the root, which is called `.`."""

    name: str
    path: Path
    event_files: list[str]
    other_files: list[str]
    links: list[str]  # that were not followed because the caller wants them as they are


def walk(
    root: Path,
    tell: Callable[[Finding], None],
    *,
    is_kept: Callable[[Path], bool] = lambda _: False,
    is_left_out: Callable[[_Identity], bool] = lambda _: False,
) -> Iterator[WalkedFolder]:
    """The folders at or below `root`, parents first and in the order of their names.

    A root that is a file is a folder of this file alone. Links are followed, except those that `is_kept` claims, but no
    folder is entered twice on one way down, so a loop of links ends. Folders that `is_left_out` claims are passed over.
    """
    if not root.is_dir():
        yield WalkedFolder(".", root.parent, [root.name], [], [])
        return
    ways: Counter[_Identity] = Counter()
    # Folders still to be entered, the next one last. Not by recursion, which the depth of a tree would break.
    ahead: list[tuple[Path, str, frozenset[_Identity], bool]] = [(root, ".", frozenset(), False)]
    while ahead:
        path, name, above, is_below_link = ahead.pop()
        try:
            status = path.stat()
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue  # it was there a moment ago
        except OSError as error:
            tell(_unreadable(path, error))
            continue
        identity = (status.st_dev, status.st_ino)
        if is_left_out(identity):
            continue
        if identity in above:
            tell(Finding("link-loop", str(path), "this link leads back to a folder above it; it is not followed"))
            continue
        ways[identity] += is_below_link
        if is_below_link and ways[identity] > _MOST_WAYS_INTO_A_FOLDER:
            tell(Finding("many-ways", str(path), "links have led to this folder 64 times already; it is passed over"))
            continue
        folder = WalkedFolder(name, path, [], [], [])
        below = [entry for entry in entries if _takes_in(folder, entry, tell, is_kept)]
        yield folder
        start = "" if name == "." else f"{name}/"
        for entry in reversed(below):
            below_link = is_below_link or entry.is_symlink()
            ahead.append((path / entry.name, start + entry.name, above | {identity}, below_link))


def _takes_in(
    folder: WalkedFolder, entry: os.DirEntry[str], tell: Callable[[Finding], None], is_kept: Callable[[Path], bool]
) -> bool:
    """Put an entry into its place; True when it is a folder to be entered."""
    if entry.is_symlink() and is_kept(folder.path / entry.name):
        folder.links.append(entry.name)
        return False
    try:
        if entry.is_dir():
            return True
    except OSError as error:
        # An event file is told of when it is read.
        if not is_event_file(entry.name):
            tell(_unreadable(folder.path / entry.name, error))
            return False
    (folder.event_files if is_event_file(entry.name) else folder.other_files).append(entry.name)
    return False


def _unreadable(path: Path, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        return Finding("link-loop", str(path), "this link leads to itself")
    words = f"cannot be listed: {error.strerror}"
    return Finding("unreadable-folder", str(path), words, details={"errno": error.errno})


_MOST_NAMED = 20  # files that a finding names; all are counted


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What one writer wrote into one file: that file, or all segments in which it was shipped."""

    parts: list[ExaminedFile]  # in their order; each has events
    name: str  # under which it was written

    @property
    def first_wall_time(self) -> float:
        return self.parts[0].first_wall_time

    @property
    def last_wall_time(self) -> float:
        return max(part.last_wall_time for part in self.parts)

    @property
    def has_points(self) -> bool:
        """Whether there is more than the header that every writer begins with."""
        return any(part.has_points for part in self.parts)

    @property
    def lowest_step(self) -> int:
        return min((part.lowest_step for part in self.parts if part.lowest_step is not None), default=0)

    @property
    def highest_step(self) -> int:
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


_MOST_DUPLICATES = 20  # names that a finding lists; all are counted
_Content = tuple[object, ...]  # equal for equal contents


def findings_of_duplicates(folders: Sequence[tuple[Path, Sequence[ExaminedFile]]]) -> Iterator[Finding]:
    """Folders with the same event files, and files with the same content besides."""
    contents = _contents([file for _, files in folders for file in files if file.size and not _has_failed(file)])
    runs: defaultdict[tuple[_Content, ...], list[tuple[Path, Sequence[ExaminedFile]]]] = defaultdict(list)
    for folder, files in folders:
        known = [contents[id(file)] for file in files if id(file) in contents]
        # Only content that is there twice has a place in `contents`, so a folder with any other is no duplicate.
        if known and len(known) == sum(1 for file in files if file.size):
            runs[tuple(sorted(known, key=repr))].append((folder, files))
    told: set[_Content] = set()
    for run, same in runs.items():
        if len(same) > 1:
            told.update(run)
            yield _same_runs(same)
    copies: defaultdict[_Content, list[ExaminedFile]] = defaultdict(list)
    for _, files in folders:
        for file in files:
            if id(file) in contents and contents[id(file)] not in told:
                copies[contents[id(file)]].append(file)
    for same_files in copies.values():
        yield _same_files(same_files)


def _has_failed(file: ExaminedFile) -> bool:
    """Whether there is nothing to compare."""
    return file.identity is None or "unreadable-file" in file.counts


def _contents(files: list[ExaminedFile]) -> dict[int, _Content]:
    """What tells the contents of files apart, by the id of the file; only of content that is there more than once."""
    alike: defaultdict[_Content, list[ExaminedFile]] = defaultdict(list)
    for file in files:
        times = file.first_wall_time, file.last_wall_time
        alike[(file.size, file.records, file.tags, file.lowest_step, file.highest_step, *times)].append(file)
    found: defaultdict[_Content, list[ExaminedFile]] = defaultdict(list)
    for same in alike.values():
        if len({file.identity for file in same}) == 1 and len(same) > 1:
            found[("file", same[0].identity)] += same  # one file under several names: no need to read it
        elif len(same) > 1:
            for file in same:
                if digest := _digest(file.path):
                    found[("digest", digest)].append(file)
    return {id(file): content for content, same in found.items() if len(same) > 1 for file in same}


def _digest(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").digest()
    except OSError:
        return None  # gone, or not ours to read any more


def _same_runs(same: list[tuple[Path, Sequence[ExaminedFile]]]) -> Finding:
    (first, files), others = same[0], [str(folder) for folder, _ in same[1:]]
    identities = [tuple(file.identity for file in files) for _, files in same]
    linked = all(each == identities[0] for each in identities)
    words = f"has the same {count(len(files), 'event file')} as {_listed(others)}"
    words += " (linked: one on the disk)" if linked else " (copied)"
    return Finding("duplicate-run", str(first), words, details=_details(others, linked=linked))


def _same_files(same: list[ExaminedFile]) -> Finding:
    others = [str(file.path) for file in same[1:]]
    linked = len({file.identity for file in same}) == 1
    words = f"has the same {size(same[0].size)} as {_listed(others)}"
    words += " (linked: one on the disk)" if linked else " (copied)"
    return Finding("duplicate-file", str(same[0].path), words, details=_details(others, linked=linked))


def _details(others: list[str], *, linked: bool) -> dict[str, object]:
    return {"same_as": others[:_MOST_DUPLICATES], "same_as_in_all": len(others), "linked": linked}


def _listed(paths: list[str]) -> str:
    return plain(paths[0]) + (f" and {count(len(paths) - 1, 'other')}" if len(paths) > 1 else "")
