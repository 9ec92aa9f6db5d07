# SPDX-License-Identifier: Apache-2.0
"""Writes the points of chosen runs in a format, into a file that appears under its name when it is whole.

Runs and tags are chosen by exact names, wildcards, and regular expressions between slashes. When something fails,
there is no file.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.formats import PointFormat
from aboard.foundation.text import nearest_hint
from aboard.reader.opened.runs import OpenedRun
from aboard.reader.opened.tables import Rows


class NamePatterns:
    """Patterns of which one has to fit; without any, every name does. `*` and `?` stand for slashes too."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._tests = {pattern: _test(pattern) for pattern in patterns}

    def fits(self, name: str) -> bool:
        return not self._tests or any(test(name) for test in self._tests.values())

    def refuse_idle(self, names: Collection[str], kind: str) -> None:
        """Raise when a pattern fits none of the names: more likely a mistake than a wish for less."""
        for pattern, test in self._tests.items():
            if not any(map(test, names)):
                raise InvalidValue(f"no {kind} is called {pattern!r}", hint=nearest_hint(pattern, names, f"{kind}s"))


def _test(pattern: str) -> Callable[[str], object]:
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            return re.compile(pattern[1:-1]).search
        except re.error as error:
            raise InvalidValue(f"{pattern!r} is no regular expression: {error}") from error
    wildcards = re.compile(fnmatch.translate(pattern)).match
    return lambda name: name == pattern or wildcards(name)


@contextlib.contextmanager
def whole_file(output: str, *, force: bool) -> Generator[BinaryIO]:
    """A file to write to. It is written aside and gets its name at the end; what is there is replaced only by force.

    A pipe or a device is written as it stands: there is nothing to keep.
    """
    path = Path(output)
    try:
        check_output(output, force=force)
        kind = _kind_of(path)
        if _is_stream(kind):
            with path.open("wb") as file:
                yield file
            return
        # Where the output is a link, what it leads to is replaced and not the link.
        with _written_aside(path.resolve(), kind, force=force) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, StorageUnavailable):
            raise
        raise _cannot_write(output, error) from error


def check_output(output: str, *, force: bool) -> None:
    """Raise what can be known before anything is written, so that nobody waits for it."""
    path = Path(output)
    try:
        kind = _kind_of(path)
        has_folder = path.resolve().parent.is_dir()
    except OSError as error:
        raise _cannot_write(output, error) from error
    if kind is not None and stat.S_ISDIR(kind):
        raise InvalidValue(f"{output!r} is a folder", hint="give the name of a file")
    if kind is not None and stat.S_ISREG(kind) and not force:
        raise _exists(path)
    if not has_folder:
        raise InvalidValue(f"there is no folder {str(path.parent)!r} for {path.name!r}", hint="make it, then try again")


def _kind_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_stream(kind: int | None) -> bool:
    return kind is not None and not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def _cannot_write(output: str, error: OSError) -> StorageUnavailable:
    hint = "Name a file in a folder that you can write to." if isinstance(error, PermissionError) else ""
    return StorageUnavailable(f"{output!r} cannot be written: {error.strerror or error}", hint=hint)


def _exists(path: Path) -> InvalidValue:
    return InvalidValue(f"{str(path)!r} exists", hint="give another name, or --force to replace it")


@contextlib.contextmanager
def _written_aside(path: Path, mode: int | None, *, force: bool) -> Generator[BinaryIO]:
    aside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with aside.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        _give_name(aside, path, force=force)
    finally:
        aside.unlink(missing_ok=True)


def _give_name(aside: Path, path: Path, *, force: bool) -> None:
    if force:
        aside.replace(path)
        return
    try:
        # A link fails where the name is taken: also by somebody who was quicker than this export.
        path.hardlink_to(aside)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        # A file system without links.
        if path.exists():
            raise _exists(path) from None
        aside.replace(path)


_OTHER_KINDS = ("images", "audio", "histograms", "text", "graphs", "tensors")


@dataclass(slots=True)
class ExportResult:
    """What an export has written so far, and what it left out."""

    runs: int = 0
    series: int = 0
    points: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])
    """Tags that are no curves, by kind."""
    unreadable_files: int = 0
    damaged_files: int = 0
    bad_records: int = 0


def select_runs(runs: list[OpenedRun], run_patterns: NamePatterns, tag_patterns: NamePatterns) -> list[OpenedRun]:
    """The runs whose names fit. Patterns that fit nothing are refused before anything is written."""
    run_patterns.refuse_idle([run.name for run in runs], "run")
    selected = [run for run in runs if run_patterns.fits(run.name)]
    tags = dict.fromkeys(tag for run in selected for tag in run.scalars)
    tag_patterns.refuse_idle(tags.keys(), "scalar tag")
    return selected


def export_points(
    runs: list[OpenedRun], tags: NamePatterns, target: PointFormat, progress: ExportResult, *, superseded: bool
) -> None:
    """Write the points of all tags that fit; `progress` may be looked at meanwhile."""
    target.begin()
    for run in runs:
        _note_what_is_missing(run, tags, progress)
        target.begin_run(run)
        names: set[str] = set()
        for rows in _chosen_rows(run, tags, superseded=superseded):
            target.add(rows)
            names.add(rows.tag)
            progress.points += len(rows)
        progress.series += len(names)
        progress.runs += 1
    target.end()


def _chosen_rows(run: OpenedRun, tags: NamePatterns, *, superseded: bool) -> Iterator[Rows]:
    return (rows for rows in run.rows(superseded=superseded) if len(rows) and tags.fits(rows.tag))


def _note_what_is_missing(run: OpenedRun, tags: NamePatterns, progress: ExportResult) -> None:
    for kind in _OTHER_KINDS:
        if count := sum(map(tags.fits, getattr(run, kind))):
            progress.left_out[kind] += count
    files = run.files
    progress.unreadable_files += sum(bool(file.error) for file in files)
    progress.damaged_files += sum(bool(file.bad_records or file.skipped_bytes) for file in files)
    progress.bad_records += sum(file.bad_records for file in files)
