# SPDX-License-Identifier: Apache-2.0
"""What `aboard view` prints while it reads: progress, files that cannot be read, and requests to stores."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from aboard.cli.output import say
from aboard.cli.view.search import list_empty_roots
from aboard.foundation.text import count
from aboard.reader.collection import RunCollection
from aboard.reader.progress import ReadingProgress, problems_of
from aboard.reader.run import indexes_of

_PROGRESS_EVERY = 0.5
_LOOK_EVERY = 0.05
_LOOK_FOR_CLOSED_FOLDERS_SECONDS = 1.0
_MANY_TAGS = 200_000  # 1,000,000 take a browser one to two minutes


def report_reading(collection: RunCollection, *, is_followed: bool) -> None:
    """A line on the terminal until everything has been read once, and then what was wrong."""
    shown = False
    while not _is_read(collection, within=_PROGRESS_EVERY):
        say(_progress_line(collection.progress).ljust(78), sys.stderr, end="\r")
        shown = True
    progress = collection.progress
    if shown:
        say(_progress_line(progress).ljust(78), sys.stderr)
    for line in list_problems(collection):
        say(line, sys.stderr)
    if progress.runs_found == 0:
        lines = list_empty_roots(collection.roots.values())
        say(" ".join([*lines, "Watching for new ones." if is_followed else ""]).strip(), sys.stderr)


def _is_read(collection: RunCollection, *, within: float) -> bool:
    end = time.monotonic() + within
    while not collection.progress.cycles and time.monotonic() < end:
        time.sleep(_LOOK_EVERY)
    return collection.progress.cycles > 0


def list_problems(collection: RunCollection) -> list[str]:
    """What could not be read, in words; nothing when all is well."""
    lines: list[str] = []
    closed = _closed_folders([root for root in collection.roots.values() if isinstance(root, Path)])
    if closed:
        lines.append(f"{count(len(closed), 'folder')} cannot be read, such as {closed[0]}")
    problems = problems_of(collection.runs.values())
    if problems.unreadable:
        lines.append(f"{count(problems.unreadable, 'file')} cannot be read, such as {problems.unreadable_example}")
    if problems.damaged:
        lines.append(
            f"{count(problems.damaged, 'file')} with damaged parts, such as {problems.damaged_example}; "
            "what is whole is shown, and aboard doctor tells more"
        )
    tags = sum(len(index) for index in indexes_of(list(collection.runs.values())))
    if tags > _MANY_TAGS:
        lines.append(f"{tags:,} tags: TensorBoard's page takes minutes to show so many; view fewer runs if it hangs")
    return lines


def _progress_line(progress: ReadingProgress) -> str:
    line = f"{progress.runs_read} of {progress.runs_found} runs read"
    if progress.newest_wall_time:
        line += f", newest point {max(0, time.time() - progress.newest_wall_time):.0f} s ago"
    return line


def _closed_folders(roots: list[Path]) -> list[str]:
    """Folders that may not be listed, as far as they are found within a second: it is only a warning."""
    found: list[str] = []

    def note(error: OSError) -> None:
        if isinstance(error, PermissionError):
            found.append(f"{error.filename}: {error.strerror}")

    end = time.monotonic() + _LOOK_FOR_CLOSED_FOLDERS_SECONDS
    for root in roots:
        for _ in os.walk(root, onerror=note):
            if time.monotonic() > end:
                return found
    return found


_EVERY = 10.0
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def list_traffic(collection: RunCollection) -> list[str]:
    """A line for each store."""
    lines: list[str] = []
    for uri, traffic in collection.traffic.items():
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in traffic.requests.items()) or "none"
        lines.append(f"{uri}: {traffic.total_requests:,} requests ({kinds}), {_size(traffic.bytes_in)} read")
    return lines


def print_traffic(collection: RunCollection) -> None:
    """Tell it now."""
    for line in list_traffic(collection):
        say(line, sys.stderr)


def report_traffic(collection: RunCollection) -> None:
    """Tell it when all was read once, and from then on whenever it changed."""
    while not collection.progress.cycles:
        time.sleep(0.1)
    told: list[str] = []
    while True:
        lines = list_traffic(collection)
        if lines != told:
            told = lines
            for line in lines:
                say(line, sys.stderr)
        time.sleep(_EVERY)


def _size(number: int) -> str:
    value, unit = float(number), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.{1 if unit else 0}f} {_UNITS[unit]}"
