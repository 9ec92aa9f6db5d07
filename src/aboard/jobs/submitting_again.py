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
from aboard.jobs.job import Job
from aboard.jobs.job_record import JobRecords
from aboard.jobs.other_side import TOKEN
from aboard.jobs.submitting import CANCEL_MARK, JOB_LABEL, PreparedJob, submit_prepared
from aboard.jobs.unit_document import unit_from
from aboard.model.times import now, time_text
from aboard.model.uid import new_uid
from aboard.model.unit import UnitSpec


def incomplete_jobs(experiment: str) -> list[Job]:
    """For each run of an experiment its newest job, where that has ended and did not complete."""
    newest = {job.name: job for job in Job.list(experiment=experiment)}
    infos = [(job, job.info) for job in newest.values()]
    return [job for job, info in infos if info.state.is_ended and not info.has_succeeded]


def submit_again(job: Job, records: JobRecords) -> Job:
    """A new job with the unit of one that has ended without completing."""
    info = job.info
    if not info.state.is_ended:
        raise Conflict(f"the job {job.name} is {info.state}", hint="cancel it first, or wait for its end")
    if info.has_succeeded:
        raise Conflict(f"the job {job.name} has completed", hint="submit it under another name for another run")
    unit = new_uid()
    spec = _unit(job, unit, records)
    record = replace(job.record, id=unit, created=time_text(now()), handle="", queue="")
    executor = make_executor(job.record.executor, job.record.options)
    return submit_prepared(PreparedJob(record=record, spec=spec), executor, records)


def _unit(job: Job, unit: str, records: JobRecords) -> UnitSpec:
    """The unit as it was, under another id, with the token of today."""
    path = records.unit_file(job.id)
    try:
        spec = unit_from(json.loads(path.read_text("utf-8")))
        source = _source(spec.source, records.place(job.id), records.place(unit))
    except (OSError, ValueError) as error:
        hint = "submit it as the first time; with name= its run goes on"
        raise StorageUnavailable(f"the job {job.name} cannot be submitted again: {error}", hint=hint) from error
    settings = client_settings({})
    environment = {**spec.environment, CANCEL_MARK: str(records.cancel_mark(unit))}
    if "ABOARD_SERVER" in environment and settings.token:
        environment[TOKEN] = settings.token
    return replace(spec, id=unit, source=source, environment=environment, labels={**spec.labels, JOB_LABEL: unit})


def _source(source: str, earlier: Path, later: Path) -> str:
    """The source folder; a copy that belongs to the earlier job is copied, because that job may be forgotten."""
    if not source or not Path(source).is_relative_to(earlier):
        return source
    copy = later / Path(source).relative_to(earlier)
    shutil.copytree(source, copy, symlinks=True)
    return str(copy)
