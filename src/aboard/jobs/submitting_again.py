# SPDX-License-Identifier: Apache-2.0
"""Jobs that were killed, cancelled or failed, submitted once more: another unit, the same run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from aboard.config.credentials import client_settings
from aboard.errors import Conflict, StorageUnavailable
from aboard.executors.registry import make_executor
from aboard.jobs.cancel_marks import KEY as CANCEL_KEY
from aboard.jobs.cancel_marks import mark_variables
from aboard.jobs.job import Job
from aboard.jobs.job_record import JobRecords
from aboard.jobs.other_side import TOKEN
from aboard.jobs.sent_source import need_source
from aboard.jobs.submitting import JOB_LABEL, PreparedJob, submit_prepared, undone_if_refused
from aboard.jobs.unit_document import unit_from
from aboard.model.times import now, time_text
from aboard.model.uid import new_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason


def incomplete_jobs(experiment: str) -> tuple[list[Job], list[Job]]:
    """For each run of an experiment its newest job: where that did not complete, and where nobody can say any more."""
    newest = {(job.record.workspace, job.name): job for job in Job.list(experiment=experiment)}
    infos = [(job, job.info) for job in newest.values()]
    missed = [(job, info) for job, info in infos if info.state.is_ended and not info.has_succeeded]
    forgotten = [job for job, info in missed if info.reason is EndReason.FORGOTTEN]
    return [job for job, _ in missed if job not in forgotten], forgotten


def submit_again(job: Job, records: JobRecords) -> Job:
    """A new job with the unit of one that has ended without completing."""
    info = job.look()  # nothing is started in order to be refused
    if not info.state.is_ended:
        raise Conflict(f"the job {job.name} is {info.state}", hint="cancel it first, or wait for its end")
    if info.has_succeeded:
        raise Conflict(f"the job {job.name} has completed", hint="submit it under another name for another run")
    unit = new_uid()
    earlier = _unit(job, records)
    spec = _under(unit, earlier, job.id, records)
    record = replace(job.record, id=unit, created=time_text(now()), handle="", queue="")
    executor = make_executor(job.record.executor, job.record.options)
    one = PreparedJob(record=record, spec=spec)
    with undone_if_refused([one], records):
        if spec.source != earlier.source:
            _copy(job, earlier.source, spec.source)
        need_source(spec.environment, unit, job.name)
        if info.state is UnitState.LOST:
            job.cancel()  # what is left of it would hold the run
        again = submit_prepared(one, executor, records)
    records.mark_cancelled(job.id)  # nobody is to start the earlier one again as well
    return Job(again, records=records)


def _unit(job: Job, records: JobRecords) -> UnitSpec:
    """The unit as it was."""
    try:
        return unit_from(json.loads(records.unit_file(job.id).read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise _impossible(job, error) from error


def _under(unit: str, spec: UnitSpec, earlier: str, records: JobRecords) -> UnitSpec:
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
        environment[TOKEN] = settings.token
    return replace(spec, id=unit, source=source, environment=environment, labels={**spec.labels, JOB_LABEL: unit})


def _copy(job: Job, source: str, copy: str) -> None:
    try:
        shutil.copytree(source, copy, symlinks=True)
    except OSError as error:
        raise _impossible(job, error) from error


def _impossible(job: Job, error: Exception) -> StorageUnavailable:
    hint = "submit it as the first time; with name= its run goes on"
    return StorageUnavailable(f"the job {job.name} cannot be submitted again: {error}", hint=hint)
