# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard.jobs.board_ending FILE`: stops a board when the experiment beside it has ended, plus a delay.

It is a local unit of its own, so that the board ends also when the launcher of the experiment was killed. A board that
ends by itself, at its timeout or by hand, ends this too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from aboard.config.settings import load_settings
from aboard.errors import AboardError, UnknownName
from aboard.executors.registry import executor_of
from aboard.jobs.experiment import is_open
from aboard.jobs.job import Job
from aboard.jobs.records import JobRecords, write_owned
from aboard.model.units import UnitHandle

_POLL_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class BoardEnding:
    """Which board ends with what. An experiment is known by its files, or by its name alone."""

    board: str
    """Text of its handle."""
    experiment: str
    members: str = ""
    lock: str = ""
    delay: float = 0.0

    def write(self, path: Path) -> None:
        """Keep it where `work` finds it."""
        write_owned(path, json.dumps(asdict(self)))


def work(ending: BoardEnding, poll_seconds: float = _POLL_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
    """Wait for one of the two ends."""
    handle = UnitHandle.parse(ending.board)
    over_since: float | None = None
    is_asked = False
    # Not before it has ended: what an executor leaves behind to end a unit would end with this one.
    while not _has_ended(handle):
        if over_since is None and _is_over(ending):
            over_since = clock()
        if over_since is not None and clock() - over_since >= ending.delay:
            is_asked = is_asked or _request_stop(handle)
        time.sleep(poll_seconds)


def _request_stop(handle: UnitHandle) -> bool:
    """Whether its executor has heard; one that does not answer, or refuses just now, is asked again."""
    try:
        executor_of(handle).stop(handle)
    except AboardError:
        return False
    return True


def _has_ended(handle: UnitHandle) -> bool:
    try:
        return executor_of(handle).status(handle).state.is_ended
    except UnknownName:
        return True
    except AboardError:
        return False


def _is_over(ending: BoardEnding) -> bool:
    """Whether the experiment has had jobs, or was open, and nothing of that is left."""
    if ending.lock and is_open(Path(ending.lock)):
        return False
    try:
        jobs = _jobs(ending)
        return (bool(jobs) or bool(ending.lock)) and all(job.refresh().state.is_ended for job in jobs)
    except AboardError:
        return False  # asked again


def _jobs(ending: BoardEnding) -> list[Job]:
    if not ending.members:
        return Job.list(experiment=ending.experiment)
    records = JobRecords(load_settings().home)
    found: list[Job] = []
    for job in json.loads(Path(ending.members).read_text("utf-8")):
        try:
            found.append(Job(records.get(job), records=records))
        except UnknownName:
            continue  # forgotten: it had ended
    return found


if __name__ == "__main__":
    work(BoardEnding(**json.loads(Path(sys.argv[1]).read_text("utf-8"))))
