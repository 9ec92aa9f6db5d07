# SPDX-License-Identifier: Apache-2.0
"""Files, logs and annotations of runs, read from their stores.

Files are listed and read by the rows of a run's documents, so no other object can be named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from aboard.api.runs import LogPart, RunFile, RunProblem
from aboard.api.series import Annotation, Annotations
from aboard.api.wire import Page
from aboard.errors import AboardError, InvalidValue, UnknownName
from aboard.model.selections import SelectedRun
from aboard.store.run.documents import Summary
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import LOG
from aboard.store.run.run_folder import ManifestOutdated, RunFolder, read_logical

PIECE: Final = 1 << 20
_LONGEST_TAIL = 4 << 20
_LOOKED_AT: Final = 64 << 10


def list_files(folder: RunFolder, *, prefix: str, limit: int, after: str) -> Page[RunFile]:
    """One page of the files of a run, by path."""
    rows = [row for row in _rows(folder) if row.path.startswith(prefix) and row.path > after]
    rows.sort(key=lambda row: row.path)
    return Page(tuple(map(_run_file, rows[:limit])), rows[limit - 1].path if len(rows) > limit else None)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a run that can be read, as long as its documents said it is."""

    folder: RunFolder
    row: FileRow

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.row.bytes

    def read(self, start: int, end: int) -> bytes:
        """Bytes from `start` up to `end`; segments that were rolled up meanwhile are looked for again."""
        try:
            return read_logical(self.folder, self.row, start, end)
        except ManifestOutdated:
            return read_logical(self.folder, find_file(self.folder, self.row.path).row, start, end)

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Ranges that together are bytes `start` to `end`."""
        return ((begin, min(begin + PIECE, end)) for begin in range(start, end, PIECE))


def find_file(folder: RunFolder, path: str) -> StoredFile:
    """A file by the path that the list has."""
    for row in _rows(folder):
        if row.path == path:
            if row.link:
                raise InvalidValue(f"{path!r} is a link to {row.link!r}", hint="ask for what it leads to")
            return StoredFile(folder, row)
    raise UnknownName(f"the run has no file {path!r}", hint="GET runs/RUN/files lists them")


def read_log(folder: RunFolder, *, path: str, offset: int | None, tail: int) -> LogPart:
    """A part of the console log: from `offset` on, or else the last `tail` lines. Without a path, the newest log."""
    rows = [row for row in _rows(folder) if row.path.startswith(f"{LOG}/") and not row.link]
    chosen = [row for row in rows if row.path == path] if path else sorted(rows, key=_age)[-1:]
    if not chosen:
        known = ", ".join(sorted(row.path for row in rows)[:5])
        hint = f"it has {known}" if known else "runs of `aboard run` have one"
        raise UnknownName(f"the run has no log {path!r}" if path else "the run has no log", hint=hint)
    file = StoredFile(folder, chosen[0])
    begin = max(0, file.size - _LONGEST_TAIL) if offset is None else min(offset, file.size)
    data = file.read(begin, min(file.size, begin + _LONGEST_TAIL))
    if offset is None:
        cut = _last_lines(data, tail)
        begin, data = begin + len(data) - len(cut), cut
    data = _whole_letters(data)
    text = data.decode("utf-8", "replace")
    return LogPart(path=file.row.path, offset=begin, next=begin + len(data), size=file.size, text=text)


def _rows(folder: RunFolder) -> list[FileRow]:
    read = folder.read_manifest()
    outputs = folder.read_outputs()
    return [*(read.manifest.files if read else ()), *(outputs.files if outputs else ())]


def _run_file(row: FileRow) -> RunFile:
    try:
        modified = None if row.modified is None else datetime.fromtimestamp(row.modified, UTC)
    except (OverflowError, OSError, ValueError):
        modified = None
    return RunFile(path=row.path, bytes=row.bytes, modified=modified, link=row.link, gone=row.gone)


def _age(row: FileRow) -> tuple[float, str]:
    return row.modified or 0.0, row.path


def _last_lines(data: bytes, count: int) -> bytes:
    at = len(data) - data.endswith(b"\n")
    for _ in range(count):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return data
    return data[at + 1 :]


def _whole_letters(data: bytes) -> bytes:
    """Without the beginning of a letter whose end is not there yet."""
    for length in range(1, min(4, len(data) + 1)):
        first = data[-length]
        if first >= 0xC0:
            whole = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return data if length >= whole else data[:-length]
        if first < 0x80:
            break
    return data


_MOST_RUNS = 500
_MOST_TOLD = 20_000
_AT_ONCE = 4
_LOWEST_STEP, _HIGHEST_STEP = -(2**63), 2**63 - 1


def annotations_of(runs: Sequence[SelectedRun], read: Callable[[SelectedRun], Summary | None]) -> Annotations:
    """What these runs say; a run that cannot be read is told beside the others. `read` waits for the run's store."""
    if len(runs) > _MOST_RUNS:
        raise InvalidValue(f"{len(runs)} runs are named", hint=f"ask for at most {_MOST_RUNS} at once")
    most = _MOST_TOLD // len(runs)
    items: list[Annotation] = []
    left_out = 0
    problems: list[RunProblem] = []

    def attempted(run: SelectedRun) -> Summary | AboardError | None:
        try:
            return read(run)
        except AboardError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE, "aboard-annotations") as threads:
        for run, found in zip(runs, threads.map(attempted, runs), strict=True):
            if isinstance(found, AboardError):
                problems.append(RunProblem(run=run.name, code=found.code, message=found.message))
            elif found is not None:
                items += [_annotation(run.uid, entry) for entry in found.annotations[-most:]]
                left_out += max(0, len(found.annotations) - most)
    return Annotations(items=tuple(items), left_out=left_out, problems=tuple(problems))


def _annotation(uid: str, entry: Mapping[str, object]) -> Annotation:
    """A document of a store may say anything; what is not understood is left out of the annotation."""
    data = entry.get("data")
    return Annotation(
        run=uid,
        name=str(entry.get("name", "")),
        step=_step(entry.get("step")),
        wall_time=_time(entry.get("time")),
        data=cast("Mapping[str, object]", data) if isinstance(data, Mapping) else {},
    )


def _step(said: object) -> int | None:
    if not isinstance(said, int) or isinstance(said, bool):
        return None
    return said if _LOWEST_STEP <= said <= _HIGHEST_STEP else None


def _time(said: object) -> float | None:
    if not isinstance(said, (int, float)) or isinstance(said, bool):
        return None
    return float(said) if math.isfinite(said) else None
