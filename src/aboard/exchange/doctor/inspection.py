# SPDX-License-Identifier: Apache-2.0
"""Inspects event files, many at once: what is in each, and what is wrong with it.

Inspections run in the native core, report how far they are, and stop when the user interrupts the command.
"""

from __future__ import annotations

import errno
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from aboard._native import FileReport, Inspection
from aboard.events.event import segment_of
from aboard.exchange.doctor.findings import KINDS, Finding, Severity
from aboard.foundation.text import count, duration, local_time, quoted, size, utc_time
from aboard.reader.tags import KIND_NAMES, ValueKind

MOST_PLACES = 20  # listed of each kind and file; all are counted
_THREADS = max(2, os.cpu_count() or 1)
_AHEAD = 4 * _THREADS


@dataclass(slots=True)
class InspectionProgress:
    """How far a long command is; written by the command, read by whoever shows it."""

    doing: str = "looking for event files"
    files: int = 0  # 0: not known yet
    files_done: int = 0
    bytes_done: int = 0
    running: set[Inspection] = field(default_factory=set[Inspection])

    def begin(self, doing: str, files: int) -> None:
        self.doing, self.files, self.files_done, self.bytes_done = doing, files, 0, 0

    @property
    def bytes_read(self) -> int:
        """In this stage, of files under way too."""
        return self.bytes_done + sum(inspection.bytes_read for inspection in tuple(self.running))

    def words(self) -> str:
        if not self.files:
            return f"{self.doing}: {self.files_done:,} found" if self.files_done else self.doing
        line = f"{self.doing} {self.files_done:,} of {count(self.files, 'file')}"
        return f"{line}, {size(self.bytes_read)}" if self.bytes_read else line


class Inspectors:
    """Threads that inspect files. Leaving by an exception, Ctrl-C too, ends what is under way."""

    def __init__(self, progress: InspectionProgress) -> None:
        self._progress = progress
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="aboard-inspection")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for inspection in tuple(self._progress.running):
                inspection.cancel()
        self._threads.shutdown(cancel_futures=kind is not None)

    def one(self, path: Path, copy_to: int = -1) -> FileReport:
        """Inspect a file, and copy its whole records to a descriptor if one is given."""
        return self._finished(self._start(path, copy_to))

    def all(self, paths: Iterable[Path]) -> Iterator[FileReport]:
        """Inspect many files; the reports come in the order of the paths."""
        started: deque[tuple[Inspection, Future[FileReport]]] = deque()
        for path in paths:
            started.append(self._start(path, -1))
            if len(started) >= _AHEAD:
                yield self._finished(started.popleft())
        while started:
            yield self._finished(started.popleft())

    def _start(self, path: Path, copy_to: int) -> tuple[Inspection, Future[FileReport]]:
        inspection = Inspection(os.fsencode(path), MOST_PLACES)
        self._progress.running.add(inspection)
        # A descriptor of its own: the caller may close the other one while the thread has not seen the end yet.
        own = os.dup(copy_to) if copy_to >= 0 else -1
        return inspection, self._threads.submit(_run, inspection, own)

    def _finished(self, started: tuple[Inspection, Future[FileReport]]) -> FileReport:
        inspection, future = started
        report = future.result()
        self._progress.running.discard(inspection)
        self._progress.files_done += 1
        self._progress.bytes_done += inspection.bytes_read
        return report


def _run(inspection: Inspection, copy_to: int) -> FileReport:
    try:
        return inspection.run(copy_to)
    finally:
        if copy_to >= 0:
            os.close(copy_to)


RECENT_SECONDS = 600  # a file written within this time may still be written
# Damage, by the number that the native core gives it.
DAMAGE_CODES = ("bad-payload", "no-event", "record-too-long", "bad-header")
# How files begin that people meet under the name of an event file.
_FAMILIAR = {
    b"\x1f\x8b": "it is compressed by gzip: unpack it first",
    b"(\xb5/\xfd": "it is compressed by zstd: unpack it first",
    b"BZh": "it is compressed by bzip2: unpack it first",
    b"\xfd7zXZ": "it is compressed by xz: unpack it first",
    b"PK\x03\x04": "it is a zip archive: unpack it first",
    b"version https://git-lfs": "it is a pointer of Git LFS: fetch the file with git lfs pull",
    b"<": "it looks like a web page, perhaps of a failed download",
}


@dataclass(frozen=True, slots=True)
class ExaminedFile:
    """What is in a file, and which of its findings are listed; of each code, how many there are in all."""

    path: Path
    size: int
    modified: float
    identity: tuple[int, int] | None  # device and inode, when the file can be looked at
    records: int
    first_wall_time: float  # of the first event; not finite when there is none
    last_wall_time: float  # the latest; not finite when there is none
    lowest_step: int | None
    highest_step: int | None
    tags: int
    damaged_bytes: int  # of damaged records, between records and behind the last
    findings: list[Finding]
    counts: dict[str, int]

    @property
    def has_points(self) -> bool:
        """Whether there is more than the header that every writer begins with."""
        return self.lowest_step is not None

    @property
    def is_damaged(self) -> bool:
        """Whether something in it is damaged, or it cannot be read."""
        return any(KINDS[code].severity is Severity.ERROR for code in self.counts)


def examine(path: Path, status: os.stat_result | None, report: FileReport, now: float) -> ExaminedFile:
    """Judge a file by its inspection; `status` is what it looked like just before."""
    modified = status.st_mtime if status else 0.0
    listed = list(_findings(path, report, now - modified))
    counts: dict[str, int] = {}
    for finding, _ in listed:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    for finding, in_all in listed:
        counts[finding.code] = max(counts[finding.code], in_all)
    tail = report.tail[1] if report.tail else 0
    return ExaminedFile(
        path=path,
        size=report.size,
        modified=modified,
        identity=(status.st_dev, status.st_ino) if status else None,
        records=report.records,
        first_wall_time=report.first_wall_time,
        last_wall_time=report.last_wall_time,
        lowest_step=report.lowest_step,
        highest_step=report.highest_step,
        tags=report.tags,
        damaged_bytes=tail + sum(report.damage(kind)[1] for kind in range(len(DAMAGE_CODES))),
        findings=[finding for finding, _ in listed],
        counts=counts,
    )


# Each of the following yields findings, and how many of their code there are in the file in all.
_Counted = tuple[Finding, int]


def _findings(path: Path, report: FileReport, age: float) -> Iterator[_Counted]:
    if report.error:
        yield _unreadable(path, report), 1
        return
    if report.size == 0:
        if age < RECENT_SECONDS:
            yield Finding("unfinished", str(path), f"has no bytes yet; made {_ago(age)}"), 1
        else:
            yield Finding("empty-file", str(path), f"has no bytes; made {_ago(age)}"), 1
        return
    if report.records == 0 and report.tail is None:
        yield _no_events(path, report), 1
        return
    yield from _damage(path, report)
    if report.tail is not None:
        yield _tail(path, report.tail, age), 1
    yield from _steps(path, report)
    yield from _kinds(path, report)
    yield from _clock(path, report)
    yield from _remarks(path, report)


def _unreadable(path: Path, report: FileReport) -> Finding:
    reason = os.strerror(report.error)
    details = {"errno": report.error}
    if report.error == errno.ELOOP:
        return Finding("link-loop", str(path), "this link leads to itself", details=details)
    if report.error == errno.ENOENT and path.is_symlink():
        words = f"leads to {quoted(str(path.readlink()))}, which is not there"
        return Finding("broken-link", str(path), words, details=details)
    if report.error == errno.ESPIPE:
        return Finding("not-a-file", str(path), "is no regular file; it is never opened", details=details)
    where = report.read_to if report.read_to else None
    return Finding("unreadable-file", str(path), f"cannot be read: {reason}", byte=where, details=details)


def _no_events(path: Path, report: FileReport) -> Finding:
    message = f"nothing in its {size(report.size)} is an event"
    try:
        with path.open("rb") as file:
            begin = file.read(64)
    except OSError:
        begin = b""
    for familiar, words in _FAMILIAR.items():
        if begin.startswith(familiar):
            message += f"; {words}"
            break
    damage = {code: report.damage(kind)[0] for kind, code in enumerate(DAMAGE_CODES)}
    return Finding("no-events", str(path), message, byte=0, end=report.size, details=damage)


def _damage(path: Path, report: FileReport) -> Iterator[_Counted]:
    for kind, code in enumerate(DAMAGE_CODES):
        in_all, _, places = report.damage(kind)
        for begin, end in places:
            length = size(end - begin)
            message = {
                "bad-payload": f"a record of {length} does not match its checksum",
                "no-event": f"a record of {length} has the right checksums but is no event",
                "record-too-long": f"a record of {length} is longer than aboard reads",
                "bad-header": f"{length} are no record"
                + (", up to the end of the file" if end == report.size else f"; the next one is at byte {end:,}"),
            }[code]
            yield Finding(code, str(path), message, byte=begin, end=end), in_all


def _tail(path: Path, tail: tuple[int, int, int | None], age: float) -> Finding:
    offset, there, missing = tail
    lack = "" if missing is None else f" and {size(missing)} are missing"
    details = {"bytes": there, "missing_bytes": missing}
    if age < RECENT_SECONDS:
        message = f"the last record is not whole yet: {size(there)} are there{lack}; written {_ago(age)}"
        return Finding("unfinished", str(path), message, byte=offset, end=offset + there, details=details)
    message = f"the last record was cut off: {size(there)} are there{lack}; written {_ago(age)}"
    return Finding("truncated", str(path), message, byte=offset, end=offset + there, details=details)


def _steps(path: Path, report: FileReport) -> Iterator[_Counted]:
    for fall in report.step_falls:
        tag, before, after, times = fall.tag, fall.from_step, fall.to_step, fall.count
        message = f"tag {quoted(tag)} goes back from step {before:,} to {after:,}"
        if times > 1:
            message += f", and {count(times - 1, 'more time')}"
        details = {"tag": tag, "from_step": before, "to_step": after, "times": times}
        yield Finding("steps-back", str(path), message, byte=fall.offset, details=details), report.fallen_tags


def _kinds(path: Path, report: FileReport) -> Iterator[_Counted]:
    for clash in report.kind_clashes:
        kinds = [KIND_NAMES[ValueKind(clash.first_kind)], KIND_NAMES[ValueKind(clash.second_kind)]]
        message = f"tag {quoted(clash.tag)} holds {kinds[0]} and {kinds[1]} data; only the {kinds[0]} data is shown"
        details = {"tag": clash.tag, "kinds": kinds}
        yield Finding("two-kinds", str(path), message, byte=clash.offset, details=details), report.clashing_tags


def _clock(path: Path, report: FileReport) -> Iterator[_Counted]:
    for code, (in_all, places), way in (
        ("clock-back", report.clock_back, "goes back by"),
        ("clock-ahead", report.clock_ahead, "jumps ahead by"),
    ):
        for offset, before, after in places:
            words = f"the clock {way} {duration(abs(after - before))}, from {local_time(before)} to {local_time(after)}"
            details = {"from": utc_time(before), "to": utc_time(after), "seconds": after - before}
            yield Finding(code, str(path), words, byte=offset, details=details), in_all


def _remarks(path: Path, report: FileReport) -> Iterator[_Counted]:
    if report.events_without_time:
        message = f"{count(report.events_without_time, 'event')} without a wall time (NaN or infinite)"
        yield Finding("no-wall-time", str(path), message, byte=report.first_without_time), 1
    if report.bad_values:
        message = f"{count(report.bad_values, 'value')} inside events cannot be decoded"
        yield Finding("bad-value", str(path), message, byte=report.first_bad_value), 1
    if report.restarts:
        message = f"a session started again {count(report.restarts, 'time')} within this file"
        yield Finding("session-restarts", str(path), message, details={"times": report.restarts}), 1
    segment = segment_of(path.name)
    if report.records and not report.begins_with_version and (segment is None or segment[1] == 0):
        yield Finding("no-file-version", str(path), "does not begin with the version of its format"), 1
    if report.nan_values or report.infinite_values:
        message = f"{report.nan_values:,} NaN and {report.infinite_values:,} infinite values"
        details = {"nan": report.nan_values, "infinite": report.infinite_values}
        yield Finding("non-finite-values", str(path), message, details=details), 1
    if not report.all_tags_followed:
        yield Finding("tags-not-followed", str(path), f"steps were compared for {report.tags:,} tags only"), 1


def _ago(age: float) -> str:
    """How long ago; a clock ahead of ours counts as now."""
    return f"{duration(age)} ago" if age >= 1 and math.isfinite(age) else "just now"
