# SPDX-License-Identifier: Apache-2.0
"""Reconciles jobs with their runs, and removes from stores what ended jobs no longer need.

A run reports its end by itself, and one that falls silent is marked lost after a while. Of a job that was submitted
with the home folder of this server, its executor knows more: that the machine failed, memory ran out, or somebody
killed `aboard run`. The run then ends with that state and reason. A job with a pending cancellation is asked to end
until it does.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, Conflict, UnknownName
from aboard.jobs.cancellation import clean_marks
from aboard.jobs.job import Job
from aboard.jobs.records import JobRecord, JobRecords
from aboard.jobs.sources import clean_sources
from aboard.model.runs import RunRecord
from aboard.model.states import RunState, UnitState
from aboard.model.times import now, parse_time
from aboard.model.units import EndReason, UnitStatus
from aboard.services.periodic_task import PeriodicTask
from aboard.store import open_store

_log = logging.getLogger("aboard.services")
_SHARE = 20  # schedulers are asked by processes: at most this part of the time
_WITHOUT_RUN = timedelta(hours=1)
_TAKEN_UP = timedelta(hours=1)
"""What was preempted has by then been queued again, or is not any more."""
_OPEN = frozenset({RunState.CREATED, RunState.QUEUED, RunState.RUNNING, RunState.PREEMPTED, RunState.LOST})
"""A run that was asked to end may not know who asked, and calls itself preempted."""
_ENDS = {
    EndReason.STOPPED: RunState.CANCELLED,
    EndReason.PREEMPTED: RunState.PREEMPTED,
    **dict.fromkeys(
        (
            EndReason.EXITED,
            EndReason.TIMEOUT,
            EndReason.OUT_OF_MEMORY,
            EndReason.NOT_STARTED,
            EndReason.NODE_FAILED,
        ),
        RunState.FAILED,
    ),
}
"""Ends that say something of the run. One that completed ships the rest later; a lost one may go on unseen."""


@dataclass(frozen=True)
class JobCheckIntervals:
    """How often jobs are checked, and how soon what an executor says of an end counts."""

    rest: float = 3.0
    """Seconds between two rounds."""
    upload_time: timedelta = timedelta(seconds=10)
    """The last words of a run may be on their way into the catalog for this long."""


class JobReconciler:
    """A thread that looks at the jobs of one home folder, of all server processes one at a time."""

    def __init__(
        self,
        catalog: Catalog,
        records: JobRecords,
        on_change: Callable[[RunRecord], None],
        *,
        intervals: JobCheckIntervals | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """`on_change` is called with runs whose state was changed here."""
        self._catalog, self._records, self._on_change = catalog, records, on_change
        self._intervals, self._clock = intervals or JobCheckIntervals(), clock
        self._lock_name = f"jobs {socket.gethostname()}:{records.folder}"
        self._settled: set[str] = set()
        self._task = PeriodicTask(
            "aboard-jobs",
            self._round,
            looks_after="jobs",
            rest_after_failure=self._intervals.rest,
            first_after=self._intervals.rest,
            rest_share=_SHARE,
        )

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def stop(self, seconds: float) -> None:
        """End after what is being done; jobs go on."""
        self._task.stop()
        self._task.join(seconds)

    def _round(self) -> float:
        with self._catalog.alone(self._lock_name) as is_alone:
            if is_alone:
                self.look()
        return self._intervals.rest

    def look(self) -> None:
        """One round over all jobs of which more is expected."""
        for record in self._records.all():
            if record.id in self._settled or self._task.is_stopped:
                continue
            try:
                if self._is_settled(record):
                    self._settled.add(record.id)
            except AboardError as error:
                _log.info("The job %s is looked after later: %s", record.run, error.message)

    def _is_settled(self, record: JobRecord) -> bool:
        """Bring one job and its run closer to each other; whether nothing more can come of it."""
        job = Job(record, records=self._records)
        status = job.refresh()
        if not status.state.is_ended:
            if status.state is not UnitState.STOPPING and self._records.cancel_mark(record.id).exists():
                job.cancel()  # who asked for its end died before the executor heard of it
            return False
        if status.has_succeeded or status.reason is EndReason.FORGOTTEN:
            return True  # what its run has still to say comes from the store
        run = self._run_of(record)
        if run is None:
            return self._clock() - parse_time(record.created) > _WITHOUT_RUN
        if run.status not in _OPEN:
            return True
        state = _ENDS.get(status.reason) if status.reason is not None else None
        if state is RunState.PREEMPTED and run.status is state:
            return status.ended is not None and self._clock() - status.ended > _TAKEN_UP
        if state is not None:
            self._end(run, state, status)
        return False

    def _run_of(self, record: JobRecord) -> RunRecord | None:
        """The run whose newest attempt is this very job: others may have gone on with it since."""
        try:
            named = self._catalog.runs.named(record.workspace, record.run)
        except UnknownName:
            return None  # nothing of its workspace was seen yet
        for run in named:
            whole = self._catalog.runs.by_uid(run.uid)
            if whole.attempts and whole.attempts[-1].details.get("unit") == record.id:
                return whole
        return None

    def _end(self, run: RunRecord, state: RunState, status: UnitStatus) -> None:
        if run.number is None or (status.ended and self._clock() - status.ended < self._intervals.upload_time):
            return
        words = status.message or (f"exit code {status.exit_code}" if status.exit_code is not None else "")
        reason = f"Its job ended ({str(status.reason).replace('_', ' ')}){f': {words}' if words else ''}."
        try:
            ended = self._catalog.runs.change_status(
                run.number, state, at=status.ended or self._clock(), reason=reason, exit_code=status.exit_code
            )
        except Conflict:
            return  # it has said it by itself meanwhile
        self._on_change(ended)


def clean_stores(stores: Iterable[str]) -> None:
    """Look through each; one that fails, or in which a server may not delete, keeps what it has."""
    for uri in stores:
        try:
            store = open_store(uri)
            removed = clean_sources(store)
            clean_marks(store)
        except AboardError as error:
            _log.info("What ended jobs left stays in %s: %s", uri, error.message)
            continue
        if removed:
            _log.info("%d sources that no job needs any more were removed from %s.", removed, uri)
