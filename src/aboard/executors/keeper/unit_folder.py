# SPDX-License-Identifier: Apache-2.0
"""The folder of one unit: its specification, inherited environment, state and output, and the lock of its keeper.

| file | written by | |
|---|---|---|
| `spec.json` | who starts it | what is to run; readable by its owner alone, as variables may hold secrets |
| `inherited.json` | who starts it | the environment of who submits it, where others may start it again; secret too |
| `lock` | held by the keeper as long as it lives | so that nobody has to trust the number of a process |
| `state.json` | the keeper | its process, the ports, when it started; at the end how it ended |
| `stop.json` | who wants the end | with the seconds of grace |
| `again.json` | who starts it again | how often that was, and how often together with its keeper |
| `output.log` | the unit | what it prints |
| `keeper.log` | the keeper | its own complaints |
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, Dict, NamedTuple  # noqa: UP035 - as Python 3.8 has it

Document = Dict[str, Any]  # noqa: UP006 - evaluated, by Python 3.8 too
Environment = Dict[str, str]  # noqa: UP006 - evaluated, by Python 3.8 too
_INHERITED = "inherited.json"
_HOME = "ABOARD_HOME"


class Again(NamedTuple):
    """Starts of a unit after it was killed."""

    times: int
    keepers: int
    """Those among them that needed a new keeper."""


class UnitFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.output = path / "output.log"
        self.complaints = path / "keeper.log"
        self._lock = path / "lock"

    def read(self, name: str) -> Document | None:
        """The document of that name, if it is there."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def write(self, name: str, document: Document) -> None:
        """Replace a document as a whole: whoever reads finds the old one or the new one."""
        aside = self.path / f".{name}.{os.getpid()}"
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.path / name)

    def again(self) -> Again:
        """How often the unit was started again after it was killed."""
        told = self.read("again.json") or {}
        return Again(told.get("times", 0), told.get("keepers", 0))

    def count_again(self, *, with_keeper: bool) -> None:
        """Count one start more, before it is made: who dies in between has used it up."""
        before = self.again()
        self.set_again(Again(before.times + 1, before.keepers + (1 if with_keeper else 0)))

    def set_again(self, again: Again) -> None:
        """Write down how often it was; what was counted for a start that was refused is taken back so."""
        self.write("again.json", again._asdict())

    def say_alive(self) -> None:
        """Leave the moment at which the keeper was last there, for the one that follows when it is killed."""
        with contextlib.suppress(OSError):
            os.utime(self.path / "state.json")

    def last_alive(self) -> float:
        """The last such moment."""
        return (self.path / "state.json").stat().st_mtime

    def may_start_again(self) -> bool:
        """Whether the unit has begun, nobody wanted its end or wrote it down, and starts are left."""
        spec, state = self.read("spec.json"), self.read("state.json")
        if spec is None or state is None or "end" in state or self.read("stop.json") is not None:
            return False
        return self.again().times < spec.get("restarts", 0)

    def take(self) -> int | None:
        """The descriptor of the lock, or none while somebody else holds it. It is kept as long as it is open."""
        return try_lock(self._lock)

    def is_kept(self) -> bool:
        """Whether a keeper lives. Looking never stands in the way of another look, nor of a start."""
        if not self._lock.exists():
            return False
        with self.submitting(fcntl.LOCK_SH):
            descriptor = try_lock(self._lock, fcntl.LOCK_SH)
            if descriptor is None:
                return True
            os.close(descriptor)
            return False

    @contextlib.contextmanager
    def submitting(self, kind: int = fcntl.LOCK_EX) -> Generator[None]:
        """Of several that want to start the same unit, one at a time, and nobody looks meanwhile."""
        descriptor = os.open(self.path / "submitting", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, kind)
            yield
        finally:
            os.close(descriptor)


def try_lock(path: Path, kind: int = fcntl.LOCK_EX) -> int | None:
    """The descriptor of a file that is locked with it; none while somebody else has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in {errno.EAGAIN, errno.EACCES}:
            raise
        return None
    return descriptor


def inherited() -> Environment:
    """The environment of this process without what is aboard's own: a unit has its own store, token, run and id."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ABOARD_") or name == _HOME}


def write_inherited(folder: UnitFolder, environment: Environment) -> None:
    """Keep it for who starts the unit again."""
    folder.write(_INHERITED, {"environment": environment})


def read_inherited(folder: UnitFolder) -> Environment:
    """What was kept; of units that an earlier version has submitted nothing was."""
    kept = folder.read(_INHERITED)
    return inherited() if kept is None else kept["environment"]
