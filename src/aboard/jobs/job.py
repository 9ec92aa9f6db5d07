# SPDX-License-Identifier: Apache-2.0
"""`Job`: a training command on an executor, from its submission to the board over its run."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aboard.config.credentials import client_settings
from aboard.config.settings import load_settings
from aboard.errors import AboardError, Conflict, ExecutorUnavailable, ServerUnavailable, StorageUnavailable, UnknownName
from aboard.executors.executor import Executor, status_after_revival
from aboard.executors.local import Local
from aboard.executors.registry import executor_of, make_executor
from aboard.jobs.cancellation import KEY as CANCEL_KEY
from aboard.jobs.cancellation import forget_mark, mark_in_store, mark_variables
from aboard.jobs.records import JobRecord, JobRecords, unit_from_json
from aboard.jobs.sources import forget_source, need_source
from aboard.jobs.submission import JOB_LABEL, TOKEN_VARIABLE, PreparedJob, submit_prepared, undo_if_refused
from aboard.model.names import new_uid
from aboard.model.query.tree import value_text
from aboard.model.selections import ExactName
from aboard.model.states import UnitState
from aboard.model.times import now, time_text
from aboard.model.units import EndReason, UnitHandle, UnitSpec, UnitStatus, state_after

if TYPE_CHECKING:
    from aboard.client.board import Board, ServedRun
    from aboard.client.client import Client


_log = logging.getLogger("aboard.jobs")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_NOT_STARTED_YET = frozenset({UnitState.PENDING, UnitState.STARTING})
_RUN_SECONDS = 300.0
_QUEUE_SECONDS = 10.0


class Job:
    """A job that was submitted, by this process or by an earlier one of the same person: `Job("train-1")`."""

    def __init__(self, job: str | JobRecord, *, records: JobRecords | None = None) -> None:
        """The job with this id, the end or beginning of it, or the newest whose run is called so."""
        self._records = records or JobRecords(load_settings().home)
        self._record = self._records.find(job) if isinstance(job, str) else job

    @classmethod
    def list(cls, *, experiment: str | None = None) -> list[Job]:
        """All jobs of this person, the oldest first."""
        records = JobRecords(load_settings().home)
        return [cls(one, records=records) for one in records.all() if experiment in (None, one.experiment)]

    @property
    def id(self) -> str:
        """Its id, which is that of its unit."""
        return self._record.id

    @property
    def name(self) -> str:
        return self._record.run

    @property
    def experiment(self) -> str:
        return self._record.experiment

    @property
    def record(self) -> JobRecord:
        return self._record

    @property
    def executor(self) -> Executor:
        if self._record.handle:
            return executor_of(UnitHandle.parse(self._record.handle))
        return make_executor(self._record.executor, self._record.options)

    @property
    def info(self) -> UnitStatus:
        """Its status now: state, reason, exit code, message and host. Reading it starts nothing; see `refresh`."""
        handle = self._handle()
        return self._waiting() if handle is None else _status(handle)

    @property
    def status(self) -> UnitState:
        """Its state now. Reading it starts nothing; see `refresh`."""
        return self.info.state

    def refresh(self) -> UnitStatus:
        """Return its status now, and restart it first if it was killed together with its supervisor.

        A job is restarted as often as its `restarts` allow, unless it was cancelled or its run has a newer job.
        """
        handle = self._handle()
        if handle is None:
            return self._waiting(restarts=True)
        executor = executor_of(handle)
        return _known(lambda: status_after_revival(executor, handle, lambda: self._records.is_wanted(self.id)))

    def wait(
        self,
        timeout: float | None = None,
        *,
        until_started: bool = False,
        on_message: Callable[[str], object] | None = None,
    ) -> UnitStatus:
        """How it ended (or, with `until_started`, that it began); after `timeout` seconds, how it is doing.

        `on_message` gets each new message of its status, such as why it does not start. An executor that stops
        answering is retried for as long as the wait lasts.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause, outage, status, message = _FIRST_PAUSE, _Outage(self._record.executor), None, ""
        while True:
            try:
                status = self.refresh()
                outage.ended()
            except ExecutorUnavailable as error:
                if status is None:  # it never answered: more likely a mistake than an outage
                    raise
                outage.began(error)
            if status.message != message and not outage.is_on:
                message = status.message
                if message and on_message is not None:
                    on_message(message)
            is_over = status.state.is_ended or (until_started and status.state not in _NOT_STARTED_YET)
            if is_over or (end is not None and time.monotonic() >= end):
                return status
            time.sleep(pause if end is None else max(0.0, min(pause, end - time.monotonic())))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def logs(self, *, follow: bool = False) -> Iterator[bytes]:
        """What it printed, in pieces; when followed, from its start to its end.

        Following goes on where it stopped when an executor does not answer for a while.
        """
        while (handle := self._handle()) is None:
            if not follow or self._waiting(restarts=True).state.is_ended:
                return
            time.sleep(_FIRST_PAUSE * 10)
        executor, outage, sent, pause = executor_of(handle), _Outage(self._record.executor), 0, _FIRST_PAUSE
        if follow:
            executor.status(handle)  # one that does not answer at all is an error, not an outage
        while True:
            try:
                for piece in executor.logs(handle, start=sent, follow=follow):
                    outage.ended()
                    pause = _FIRST_PAUSE
                    sent += len(piece)
                    yield piece
                return
            except ExecutorUnavailable as error:
                if not follow:
                    raise
                outage.began(error)
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def cancel(self) -> None:
        """Ask for its end; its run is then cancelled. One that has ended stays as it is."""
        status = self.info
        if status.state.is_ended and not self._may_come_back(status):
            return
        self._records.mark_cancelled(self.id)
        # A queue may have submitted it just before it could see the mark.
        if (handle := self._handle()) is not None:
            mark_in_store(self._records.unit_environment(self.id), self.id)
            executor = executor_of(handle)
            with contextlib.suppress(UnknownName):  # what is left of a unit that was forgotten finds the mark
                executor.stop(handle)

    def again(self) -> Job:
        """Submit it once more, as a new job whose run is the same and goes on; for one that did not complete."""
        return submit_again(self, self._records)

    def forget(self) -> None:
        """Remove what it left, except its run; one that is not over is refused."""
        try:
            state = self.status
        except ExecutorUnavailable as error:
            path = self._records.path(self.id)
            hint = f"it may run; if {self._record.executor} will never answer again, remove {path}"
            raise ExecutorUnavailable(error.message, hint=hint) from error
        if not state.is_ended:
            raise Conflict(f"the job {self.name} is {state}", hint="cancel it first")
        if (handle := self._handle()) is not None:
            executor = executor_of(handle)
            with contextlib.suppress(UnknownName):
                executor.forget(handle)
        environment = self._records.unit_environment(self.id)
        forget_source(environment, self.id)
        forget_mark(environment, self.id)
        self._records.remove(self.id)
        if self._records.remove_if_empty(self._record.group):
            _forget_queue(self._record)

    @property
    def run(self) -> ServedRun:
        """Its run, from the configured server or the private one; an error while there is none yet."""
        return self._client().runs.get(str(ExactName(self.name, self._record.workspace)))

    def wait_for_run(self, timeout: float = _RUN_SECONDS) -> ServedRun:
        """Its run, as soon as a server knows it; an error when the job ended without one, or after `timeout` s."""
        end = time.monotonic() + timeout
        pause = _FIRST_PAUSE
        has_ended = False
        while True:
            try:
                return self.run
            except UnknownName:
                if has_ended and time.monotonic() > end - timeout + 30:
                    info = self.refresh()
                    hint = info.message or "its output says why: logs()"
                    raise Conflict(f"the job {self.name} is {info.state} and has no run", hint=hint) from None
                if time.monotonic() > end:
                    hint = "wait longer, or look at info"
                    raise ServerUnavailable(f"the job {self.name} has no run yet", hint=hint) from None
            has_ended = self.refresh().state.is_ended
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def tensorboard(self, **options: Any) -> Board:
        """A board over its run, as `Board.create` makes it, also before the run begins; one that is there is opened."""
        from aboard.client.board import Board

        options.setdefault("display_name", self.name)
        options.setdefault("client", self._client())
        return Board.create(where=run_filter(self._record.workspace, self.name), **options)

    def __repr__(self) -> str:
        return f"Job(id={self.id!r}, name={self.name!r}, executor={self._record.executor!r})"

    def _client(self) -> Client:
        from aboard.client.client import Client

        return Client()

    def _handle(self) -> UnitHandle | None:
        """Its handle; found by its id where nobody has written it down."""
        if self._record.handle:
            return UnitHandle.parse(self._record.handle)
        found = self.executor.find(self.id)
        if found is not None:
            self._record = replace(self._record, handle=found.text())
            self._records.write(self._record)
        return found

    def _may_come_back(self, status: UnitStatus) -> bool:
        """Whether one that is not there may still run: it was killed, or nobody knows if its scheduler took it."""
        is_unsure = not self._record.handle and not self._record.queue
        return status.can_go_on or status.state is UnitState.LOST or is_unsure

    def _waiting(self, *, restarts: bool = False) -> UnitStatus:
        """How a job is doing whose unit is not there yet."""
        if self._records.cancel_mark(self.id).exists():
            return UnitStatus(state=UnitState.STOPPED, reason=EndReason.STOPPED, message="cancelled before it began")
        if not self._record.queue:
            message = "its submission was interrupted; submit it again"
            return UnitStatus(state=UnitState.FAILED, reason=EndReason.NOT_STARTED, message=message)
        queue = UnitHandle.parse(self._record.queue)
        try:
            status = status_after_revival(executor_of(queue), queue, lambda: restarts)
        except AboardError as error:
            return _never_started(str(error))
        if not status.state.is_ended or (status.can_go_on and not restarts):
            return UnitStatus(state=UnitState.PENDING, message="waits for its turn in the sweep")
        # Looked at again: the queue may have submitted it as its last deed.
        found = self._handle()
        if found is not None:
            return _status(found)
        return _never_started("the queue of its sweep has ended without it: " + (status.message or status.state))


class _Outage:
    """Reports once that an executor stopped answering, and once that it answers again."""

    def __init__(self, executor: str) -> None:
        self._executor, self.is_on = executor, False

    def began(self, error: ExecutorUnavailable) -> None:
        if not self.is_on:
            _log.warning("Lost the connection to %s: %s. Retrying…", self._executor, error.message.rstrip("."))
        self.is_on = True

    def ended(self) -> None:
        if self.is_on:
            _log.warning("Connected to %s again.", self._executor)
        self.is_on = False


def for_each(jobs: Iterable[Job], what: Callable[[Job], object]) -> None:
    """Do something with every job, though it fails for some; that is told at the end."""
    failed: list[tuple[Job, AboardError]] = []
    for job in jobs:
        try:
            what(job)
        except AboardError as error:
            failed.append((job, error))
    if not failed:
        return
    first = failed[0][1]
    if len(failed) == 1:
        raise first
    names = ", ".join(job.name for job, _ in failed)
    kind = ExecutorUnavailable if isinstance(first, ExecutorUnavailable) else Conflict
    raise kind(f"this failed for {len(failed)} jobs ({names}): {first.message}", hint=first.hint) from first


def run_filter(workspace: str, name: str) -> str:
    """The filter that means the runs of a name in a workspace, also one that comes later."""
    return f"workspace == {value_text(workspace)} and name == {value_text(name)}"


def _status(handle: UnitHandle) -> UnitStatus:
    executor = executor_of(handle)
    return _known(lambda: executor.status(handle))


def _known(ask: Callable[[], UnitStatus]) -> UnitStatus:
    """What an executor says of a unit that it has had; it may not keep those that have ended for ever."""
    try:
        return ask()
    except UnknownName:
        reason = EndReason.FORGOTTEN
        message = "its executor has forgotten it; its run, if it had one, tells how it ended"
        return UnitStatus(state=state_after(reason), reason=reason, message=message)


def _forget_queue(record: JobRecord) -> None:
    """Nothing is left for the queue of a sweep to submit; it may just be about to find that out."""
    here = Local()
    queue = UnitHandle.parse(record.queue) if record.queue else here.find(record.group)
    if queue is not None:
        with contextlib.suppress(AboardError):  # what it leaves then is a folder of a few kilobytes
            here.stop(queue, grace=0)
            here.wait(queue, _QUEUE_SECONDS)
            here.forget(queue)


def _never_started(why: str) -> UnitStatus:
    return UnitStatus(state=UnitState.FAILED, reason=EndReason.NOT_STARTED, message=why)


def incomplete_jobs(experiment: str) -> tuple[list[Job], list[Job]]:
    """For each run of an experiment its newest job: where that did not complete, and where nobody can say any more."""
    newest = {(job.record.workspace, job.name): job for job in Job.list(experiment=experiment)}
    infos = [(job, job.refresh()) for job in newest.values()]
    missed = [(job, info) for job, info in infos if info.state.is_ended and not info.has_succeeded]
    forgotten = [job for job, info in missed if info.reason is EndReason.FORGOTTEN]
    return [job for job, _ in missed if job not in forgotten], forgotten


def submit_again(job: Job, records: JobRecords) -> Job:
    """A new job with the unit of one that has ended without completing."""
    info = job.info
    if not info.state.is_ended:
        raise Conflict(f"the job {job.name} is {info.state}", hint="cancel it first, or wait for its end")
    if info.has_succeeded:
        raise Conflict(f"the job {job.name} has completed", hint="submit it under another name for another run")
    unit = new_uid()
    earlier = _stored_unit(job, records)
    spec = _unit_under_new_id(unit, earlier, job.id, records)
    record = replace(job.record, id=unit, created=time_text(now()), handle="", queue="")
    executor = make_executor(job.record.executor, job.record.options)
    one = PreparedJob(record=record, spec=spec)
    with undo_if_refused([one], records):
        if spec.source != earlier.source:
            _copy_source(job, earlier.source, spec.source)
        need_source(spec.environment, unit, job.name)
        if info.state is UnitState.LOST:
            job.cancel()  # what is left of it would hold the run
        again = submit_prepared(one, executor, records)
    records.mark_cancelled(job.id)  # nobody is to start the earlier one again as well
    return Job(again, records=records)


def _stored_unit(job: Job, records: JobRecords) -> UnitSpec:
    try:
        return unit_from_json(json.loads(records.unit_file(job.id).read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise _not_resubmittable(job, error) from error


def _unit_under_new_id(unit: str, spec: UnitSpec, earlier: str, records: JobRecords) -> UnitSpec:
    """The unit under another id, with the token of today.

    It gets a copy of a source that belongs to the earlier job, because that may be forgotten; that of a sweep stays as
    long as any of its jobs.
    """
    source, place = spec.source, records.place(earlier)
    if source and Path(source).is_relative_to(place):
        source = str(records.place(unit) / Path(source).relative_to(place))
    settings = client_settings({})
    marks = mark_variables(unit, records.cancel_mark(unit), shares_files=CANCEL_KEY not in spec.environment)
    environment = {**spec.environment, **marks}
    if "ABOARD_SERVER" in environment and settings.token:
        environment[TOKEN_VARIABLE] = settings.token
    return replace(spec, id=unit, source=source, environment=environment, labels={**spec.labels, JOB_LABEL: unit})


def _copy_source(job: Job, source: str, copy: str) -> None:
    try:
        shutil.copytree(source, copy, symlinks=True)
    except OSError as error:
        raise _not_resubmittable(job, error) from error


def _not_resubmittable(job: Job, error: Exception) -> StorageUnavailable:
    hint = "submit it as the first time; with name= its run goes on"
    return StorageUnavailable(f"the job {job.name} cannot be submitted again: {error}", hint=hint)
