# SPDX-License-Identifier: Apache-2.0
"""Finds log folders that a command has chosen by itself: scripts that know nothing of aboard need no option.

Two looks are cheap and find most: which event files the processes of the run have open, and what is new in the folders
that frameworks use when nobody names one. What neither finds is for `--watch`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from aboard.events.file_names import is_event_file

# torch and tensorboardX; Keras; Lightning.
USUAL = ("runs", "logs", "lightning_logs")
_STAGES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "eval", "evaluation", "dev"})
_DEPTH = 4


class FoundFolders:
    """Folders with event files of this run, each told once. They may hold files of other runs as well."""

    def __init__(self, work: Path, begun: float, known: Iterable[Path]) -> None:
        self._work = work
        self._begun = begun
        self._known = [Path(os.path.realpath(one)) for one in known]

    def look(self, live: Iterable[psutil.Process], watched: Iterable[Path] = ()) -> list[Path]:
        """New folders since the last look, besides those that are watched anyway."""
        self._known += [real for one in watched if (real := Path(os.path.realpath(one))) not in self._known]
        found: list[Path] = []
        for path in (*_open_event_files(live), *self._new_in_usual_folders()):
            if self._is_known(path):
                continue
            folder = self._top(path.parent)
            if folder is None or any(one.is_relative_to(folder) for one in self._known):
                continue  # it would hold what is shipped already
            self._known.append(folder)
            found.append(folder)
        return found

    def _is_known(self, path: Path) -> bool:
        return any(path.is_relative_to(one) for one in self._known)

    def _top(self, folder: Path) -> Path | None:
        """The folder whose inside names the logdirs: `runs` of the work folder, or elsewhere the one above stages."""
        work = Path(os.path.realpath(self._work))
        if folder.is_relative_to(work):
            inside = folder.relative_to(work).parts
            return work / inside[0] if inside else None  # the work folder itself may hold anything
        above = folder.parent
        return above if folder.name.lower() in _STAGES and _is_of_its_own(above) else folder

    def _new_in_usual_folders(self) -> Iterator[Path]:
        for name in USUAL:
            folder = self._work / name
            if not self._is_known(Path(os.path.realpath(folder))):
                yield from _new_event_files(os.path.realpath(folder), self._begun, _DEPTH)


def _open_event_files(live: Iterable[psutil.Process]) -> Iterator[Path]:
    for process in live:
        try:
            paths = [file.path for file in process.open_files() if getattr(file, "mode", "w") != "r"]
        except (psutil.Error, OSError):
            continue
        for path in paths:
            if is_event_file(os.path.basename(path)):  # noqa: PTH119 - of a name that may be bytes
                yield Path(path)


def _new_event_files(folder: str, begun: float, depth: int) -> Iterator[Path]:
    """Event files written since; folders in which nothing was made since are not entered."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() or entry.stat(follow_symlinks=False).st_mtime < begun:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if depth > 1:
                        yield from _new_event_files(entry.path, begun, depth - 1)
                elif is_event_file(entry.name):
                    yield Path(entry.path)
    except OSError:
        return


def _is_of_its_own(folder: Path) -> bool:
    """Whether a folder is likely that of a training, and not one that holds everything."""
    return len(folder.parts) > 2 and folder != Path.home() and not os.path.ismount(folder)
