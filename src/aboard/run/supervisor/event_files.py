# SPDX-License-Identifier: Apache-2.0
"""Event files outside of the output folder: which folders a command writes to, and which files in them are its own.

Folders are found in two cheap ways: event files that processes of the run have open, and new files in the folders that
frameworks use by default. For anything else there is `--watch`.

In a folder that several runs share, such as /tmp/tensorboard, a file belongs to this run when it appeared after the
command was started and one of these holds: its name has the pid of one of our processes; one of them has it open; the
process in its name ended before it could be checked and the file belongs to the same user. Profilers close their files
at once and do not always put a pid into the name: such a file is ours when it appeared after the start beside an event
file that is ours. Decisions are stored as facts of the run, so that an upload can be finished later.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from aboard.events.event import is_board_file, is_event_file
from aboard.run.spool import FactLog
from aboard.run.supervisor.command import ProcessTree

# torch and tensorboardX; Keras; Lightning.
USUAL = ("runs", "logs", "lightning_logs")
_STAGES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "eval", "evaluation", "dev"})
_DEPTH = 4


class FolderDiscovery:
    """Finds folders with event files of this run, each once. They may hold files of other runs as well."""

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


SHARED = Path("/tmp/tensorboard")  # noqa: S108 - where Determined's trials write
# events.out.tfevents.<seconds>.<host>.<process>.<count>, as torch, TensorFlow and aboard name them
_NAME = re.compile(r"tfevents\.\d+\.(?P<host>.+?)\.(?P<pid>\d+)\.\d+")
# <host>_<process>.<milliseconds>.pt.trace.json, as torch's profiler does
_TRACE = re.compile(r"^(?P<host>.+)_(?P<pid>\d+)\.\d+\.pt\.trace\.json(\.gz)?$")


class OwnFiles:
    """Decides about each file once; files without an answer yet are asked about again."""

    def __init__(self, folders: Iterable[Path], facts: FactLog, known: Iterable[str] = ()) -> None:
        self._facts = facts
        self._own = set(known)
        self._others = {str(path) for folder in folders for path in _files(folder)} - self._own
        self._begun = 0.0
        self._tree: ProcessTree | None = None
        self._host = socket.gethostname()

    def watch(self, tree: ProcessTree, begun: float) -> None:
        """The command has been started; what was written last before that belongs to others."""
        self._tree, self._begun = tree, begun

    def accept(self, path: Path) -> bool:
        name = str(path)
        if name in self._own or name in self._others or self._tree is None:
            return name in self._own
        answer = False if _is_older(path, self._begun) else self._is_ours(path, self._tree)
        if answer is None:
            return False
        (self._own if answer else self._others).add(name)
        if answer:
            with contextlib.suppress(OSError):  # only `aboard sync` would miss it
                self._facts.append("own_file", path=name)
        return answer

    def _is_ours(self, path: Path, tree: ProcessTree) -> bool | None:
        found = _NAME.search(path.name) or _TRACE.search(path.name)
        live = tree.look()
        if found and found["host"] == self._host:
            pid = int(found["pid"])
            if pid in tree.seen:
                return True
            return False if psutil.pid_exists(pid) else _has_our_user(path)
        if any(_has_open(process, path) for process in live):
            return True
        if is_board_file(str(path)) and _has_our_user(path) and self._has_own_beside(path):
            return True
        return None  # nobody has it open at the moment

    def _has_own_beside(self, path: Path) -> bool:
        """Whether the logdir of a file, the nearest folder above with event files, holds one that is ours."""
        own = {str(Path(one).parent) for one in self._own}
        return next((str(folder) in own for folder in path.parents if _holds_event_files(folder)), False)


def _files(folder: Path) -> Iterable[Path]:
    for above, _, names in os.walk(folder):
        for name in names:
            if is_event_file(name) or is_board_file(f"{above}/{name}"):
                yield Path(os.path.realpath(above)) / name
                yield Path(above) / name


def _holds_event_files(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(is_event_file(entry.name) for entry in entries)
    except OSError:
        return False


def _is_older(path: Path, moment: float) -> bool:
    try:
        return path.stat().st_mtime < moment
    except OSError:
        return False


def _has_our_user(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def _has_open(process: psutil.Process, path: Path) -> bool:
    try:
        return any(file.path == str(path) for file in process.open_files())
    except (psutil.Error, OSError):
        return False
