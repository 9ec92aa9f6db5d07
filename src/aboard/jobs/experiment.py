# SPDX-License-Identifier: Apache-2.0
"""An experiment under way: its jobs, and that its launcher may still add some.

Boards beside it end when it does, also when its launcher was killed: a lock says whether that still lives, a file which
jobs it has submitted.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Self

from aboard.config.settings import load_settings
from aboard.errors import Conflict
from aboard.foundation.locks import ProcessLock, is_locked
from aboard.jobs.job import Job
from aboard.jobs.records import JobRecords, write_owned
from aboard.model.names import check_name, new_uid


class Experiment:
    """Open from its making until `close`, or the end of this process."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name, "an experiment")
        self.id = new_uid()
        self._jobs: list[Job] = []
        self._folder = JobRecords(load_settings().home).place(self.id)
        write_owned(self.members, "[]")
        self._lock: ProcessLock | None = ProcessLock(self.lock)

    @property
    def members(self) -> Path:
        """The file that lists the ids of its jobs."""
        return self._folder / "members.json"

    @property
    def lock(self) -> Path:
        """The file whose lock is held as long as jobs may be added."""
        return self._folder / "open"

    @property
    def jobs(self) -> tuple[Job, ...]:
        return tuple(self._jobs)

    def add(self, job: Job) -> Job:
        if self._lock is None:
            raise Conflict(f"the experiment {self.name} is closed", hint="make another one")
        self._jobs.append(job)
        write_owned(self.members, json.dumps([one.id for one in self._jobs]))
        return job

    def close(self) -> None:
        """Add nothing more; boards beside it end with its last job."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_open(lock: Path) -> bool:
    """Whether the launcher of an experiment still lives and has not closed it."""
    try:
        return is_locked(lock)
    except OSError:
        return False
