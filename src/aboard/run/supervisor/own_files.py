# SPDX-License-Identifier: Apache-2.0
"""Which event files in a folder that many runs share, such as /tmp/tensorboard, were made by the processes of one run.

A file is ours when it appeared after the command was started and its name holds the number of one of our processes, or
one of them has it open, or the process in its name has ended before anybody could ask and the file belongs to the same
user. Profilers close their files at once and do not always put a number into the name: such a file is ours when it
appeared after the start beside an event file that is ours. Decisions are facts of the run, so that shipping can be
finished later.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path

import psutil

from aboard.events.file_names import is_board_file, is_event_file
from aboard.run.facts import FactLog
from aboard.run.supervisor.process_tree import ProcessTree

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
        """Whether a file is that of the run."""
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
