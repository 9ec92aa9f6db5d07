# SPDX-License-Identifier: Apache-2.0
"""Where a folder source looks for runs, what else is there, and which files cannot be read."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePath

from aboard.api.folders import FileProblem, FolderContent, SourceReport
from aboard.events.event import is_event_file
from aboard.reader.roots import Root
from aboard.reader.run import RunReader
from aboard.services.folders.source import FolderSource

_MOST_PROBLEMS = 200
_MOST_KINDS = 8
_COUNTED_SECONDS = 1.0
_COUNTED_NAMES = 20_000


def report_on(source: FolderSource) -> SourceReport:
    """What a person wants to know of a source without runs, or one that is not read completely."""
    collection = source.collection
    problems = [FileProblem(file="", problem=problem) for problem in collection.store_problems]
    problems += _file_problems(collection.runs)
    return SourceReport(
        title=source.title,
        folders=tuple(_content(root) for root in collection.roots.values()),
        problems=tuple(problems[:_MOST_PROBLEMS]),
        left_out=max(0, len(problems) - _MOST_PROBLEMS),
    )


def _file_problems(runs: Mapping[str, RunReader]) -> Iterator[FileProblem]:
    for run in runs.values():
        for status in run.logdir.files():
            file = _text(run.folder / os.fsdecode(status.name))
            if status.error:
                yield FileProblem(file=file, problem=f"cannot be read: {os.strerror(status.error)}")
            elif status.bad_records or status.skipped_bytes:
                parts = [_counted(status.bad_records, "damaged record")] if status.bad_records else []
                parts += [f"{_counted(status.skipped_bytes, 'byte')} skipped"] if status.skipped_bytes else []
                yield FileProblem(file=file, problem=", ".join(parts))


def _content(root: Root) -> FolderContent:
    """What lies below a folder, as far as it is counted within a second."""
    if not isinstance(root, Path):
        return FolderContent(place=root.uri)
    folders, kinds, problems, is_partial = 0, Counter[str](), list[str](), False
    end = time.monotonic() + _COUNTED_SECONDS

    def note(error: OSError) -> None:
        problems.append(f"{_text(error.filename)} cannot be read: {error.strerror}")

    for _, names, files in os.walk(root, onerror=note):
        folders += len(names)
        kinds.update(PurePath(name).suffix.lower() for name in files if not is_event_file(name))
        if time.monotonic() > end or folders + kinds.total() > _COUNTED_NAMES:
            is_partial = True
            break
    return FolderContent(
        place=_text(root.absolute()),
        folders=folders,
        files=kinds.total(),
        kinds={_text(kind): count for kind, count in kinds.most_common(_MOST_KINDS)},
        is_partial=is_partial,
        problem="; ".join(islice(problems, 3)),
    )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _text(path: Path | str) -> str:
    """A path as text that any document can hold."""
    return str(path).encode("utf-8", "replace").decode()
