# SPDX-License-Identifier: Apache-2.0
"""The same event files under several names: copied folders, and links."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from aboard.exchange.examined_file import ExaminedFile
from aboard.exchange.findings import Finding
from aboard.exchange.wording import count, plain, size

_MOST_NAMED = 20  # names that a finding lists; all are counted
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
    return {"same_as": others[:_MOST_NAMED], "same_as_in_all": len(others), "linked": linked}


def _listed(paths: list[str]) -> str:
    return plain(paths[0]) + (f" and {count(len(paths) - 1, 'other')}" if len(paths) > 1 else "")
