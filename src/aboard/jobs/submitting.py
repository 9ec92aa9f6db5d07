# SPDX-License-Identifier: Apache-2.0
"""A training command becomes a unit that runs `aboard run` where the executor starts it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from aboard.config.credentials import client_settings
from aboard.config.settings import Settings
from aboard.config.sizes import parse_size
from aboard.errors import AboardError, ExecutorNotConfigured, ExecutorUnavailable
from aboard.executors.executor import Executor
from aboard.foundation.file_systems import may_be_work_tree
from aboard.jobs.cancel_marks import mark_variables
from aboard.jobs.executor_text import executor_from
from aboard.jobs.job import Job
from aboard.jobs.job_command import HPARAMS, run_name_of, unit_name_of, with_values, words_of
from aboard.jobs.job_record import JobRecord, JobRecords, write_owned
from aboard.jobs.other_side import TOKEN, OtherSide, bring_source, other_side, source_for
from aboard.jobs.sent_source import VARIABLE as SOURCE_KEY
from aboard.jobs.sent_source import SentSource, forget_source
from aboard.jobs.unit_document import unit_document
from aboard.model.durations import parse_duration
from aboard.model.hparams import flat_hparams, hparams_to_json
from aboard.model.names import check_name, check_workspace_name
from aboard.model.times import now, time_text
from aboard.model.uid import new_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_parts import Mount, Resources
from aboard.store.uri import parse_uri

TIMEOUT = "ABOARD_UNIT_TIMEOUT"
"""The variable by which `aboard run` knows that its time was over when it is asked to end."""
JOB_LABEL = "aboard.job"
_FLUSH_SECONDS = 30.0  # for what a run still has to ship, after the grace of its command


@dataclass(frozen=True, kw_only=True)
class JobAsked:
    """What a person asks for; `calls.submit` explains the fields."""

    command: str | Sequence[str]
    source_dir: str | os.PathLike[str] | None = None
    executor: Executor | str | None = None
    hparams: Mapping[str, object] = field(default_factory=dict[str, object])
    experiment: str = ""
    workspace: str | None = None
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    image: str = ""
    cpus: float | None = None
    memory: int | str | None = None
    gpus: int = 0
    gpu_type: str = ""
    mounts: Sequence[Mount] = ()
    service_account: str = ""
    timeout: float | str | timedelta | None = None
    grace: float = 30.0
    restarts: int = 0
    program: str = ""


@dataclass(frozen=True, kw_only=True)
class PreparedJob:
    """A job that could be submitted at any moment."""

    record: JobRecord
    spec: UnitSpec


class Preparing:
    """Makes jobs of what is asked for; everything that can be wrong is found before anything is submitted."""

    def __init__(self, asked: JobAsked, *, copies: bool = True) -> None:
        """With `copies=False` nothing is written: for looking at what would be."""
        self._copies = copies
        self.settings: Settings = client_settings({"workspace": asked.workspace})
        self.records = JobRecords(self.settings.home)
        self.executor = executor_from(asked.executor, self.settings.executor or "local")
        self._asked = asked
        store = parse_uri(self.settings.store)
        kept = str(store.path) if store.path is not None else store.uri
        self._side: OtherSide = other_side(self.executor, self.settings, kept, asked.program)
        self._store = kept
        self._words = words_of(asked.command)
        self._sent = self._source_to_send()
        self._commit = _commit_of(asked.source_dir)

    def prepared(self, hparams: Mapping[str, object], name: str | None, group: str = "") -> PreparedJob:
        """A job with these hyperparameters, alone or one of a sweep; all jobs of a sweep run in one source folder."""
        asked, unit = self._asked, new_uid()
        values = flat_hparams(hparams)
        words = with_values(self._words, values)
        run = run_name_of(words, unit) if name is None else check_name(name, "a run")
        workspace = check_workspace_name(self.settings.workspace)
        experiment = check_name(asked.experiment, "an experiment") if asked.experiment else ""
        # A TensorBoard that the executor keeps reads a folder of its own.
        mirror: str = getattr(self.executor, "tensorboard_log_dir", "")
        options = _run_options(asked, run, workspace, experiment, self._commit, mirror)
        if asked.restarts and not self.executor.restarts_failures:
            options.append(f"--restarts={asked.restarts}")
        if not self._side.keeps_disk:
            options.append("--must-ship")
        timeout = None if asked.timeout is None else parse_duration(asked.timeout, "timeout").total_seconds()
        mark = self.records.cancel_mark(unit)
        spec = UnitSpec(
            id=unit,
            name=unit_name_of(run),
            command=(*self._side.program, *options, "--", *words),
            image=asked.image,
            source=self._source(group or unit),
            environment={
                **self._side.environment,
                HPARAMS: json.dumps(hparams_to_json(values)),
                **({SOURCE_KEY: self._sent.key} if self._sent is not None else {}),
                **mark_variables(unit, mark, shares_files=self._side.shares_files),
                **({TIMEOUT: f"{timeout:g}"} if timeout is not None else {}),
                **asked.environment,
            },
            mounts=(*self._side.mounts, *asked.mounts),
            resources=_resources(asked),
            service_account=asked.service_account,
            timeout=timeout,
            grace=asked.grace + _FLUSH_SECONDS,
            restarts=asked.restarts,
            labels={JOB_LABEL: unit},
        )
        record = JobRecord(
            id=unit,
            run=run,
            workspace=workspace,
            experiment=experiment,
            executor=self.executor.name,
            options=self.executor.options,
            command=" ".join(words),
            created=time_text(now()),
            group=group,
        )
        return PreparedJob(record=record, spec=spec)

    def bring_source(self, owner: str, units: Sequence[str]) -> None:
        """Have the source where these units find it: in the store, or copied to the place of the job or sweep."""
        if self._sent is not None:
            self._sent.send(self._store, units)
        elif self._asked.source_dir is not None:
            bring_source(_folder(self._asked.source_dir), self._copy_for(owner), copies=self._side.shares_files)

    def _source_to_send(self) -> SentSource | None:
        given = self._asked.source_dir
        if given is None or self._side.shares_files or self.executor.brings_source:
            return None
        return SentSource.of(_folder(given))

    def _source(self, owner: str) -> str:
        """The source folder as a unit finds it."""
        if not self._copies:
            return "" if self._asked.source_dir is None else str(_folder(self._asked.source_dir))
        copy = self._copy_for(owner)
        return source_for(self.executor, self._asked.source_dir, copy, shares=self._side.shares_files)

    def _copy_for(self, owner: str) -> Path:
        return self.records.place(owner) / "source"


def planned_job(asked: JobAsked) -> tuple[Executor, list[UnitSpec]]:
    """What `submit_job` would submit, and where to; nothing is sent, written or asked."""
    preparing = Preparing(asked, copies=False)
    return preparing.executor, [preparing.prepared(asked.hparams, asked.name).spec]


def submit_job(asked: JobAsked) -> Job:
    """Submit one job."""
    preparing = Preparing(asked)
    one = preparing.prepared(asked.hparams, asked.name)
    with undone_if_refused([one], preparing.records):
        preparing.bring_source(one.spec.id, [one.spec.id])
        record = submit_prepared(one, preparing.executor, preparing.records)
    return Job(record, records=preparing.records)


@contextlib.contextmanager
def undone_if_refused(jobs: Sequence[PreparedJob], records: JobRecords) -> Generator[None]:
    """Jobs that cannot be submitted leave nothing: no record, no source, no folder of their sweep."""
    try:
        yield
    except BaseException as error:
        may_be_taken = isinstance(error, ExecutorUnavailable) and not isinstance(error, ExecutorNotConfigured)
        is_refused = isinstance(error, AboardError) and not may_be_taken
        # What was written down and not refused may begin later, and needs its record and source then.
        if is_refused or not any(records.path(one.record.id).exists() for one in jobs):
            _undo(jobs, records)
        raise


def _undo(jobs: Sequence[PreparedJob], records: JobRecords) -> None:
    forget_source(jobs[0].spec.environment, *(one.record.id for one in jobs))
    for one in jobs:
        records.remove(one.record.id)
    records.remove_if_empty(jobs[0].record.group)


def submit_prepared(one: PreparedJob, executor: Executor, records: JobRecords) -> JobRecord:
    """Submit a prepared job, and write its record before and after."""
    keep(one, records)
    handle = _submitted(one, executor)
    record = replace(one.record, handle=handle.text())
    records.write(record)
    return record


def _submitted(one: PreparedJob, executor: Executor) -> UnitHandle:
    """Its handle, also when only the answer to the submission was lost."""
    try:
        return executor.submit(one.spec)
    except ExecutorNotConfigured:
        raise
    except ExecutorUnavailable as error:
        with contextlib.suppress(AboardError):
            if (handle := executor.find(one.spec.id)) is not None:
                return handle
        raise unanswered(error, f"show {one.record.id}", one.record.id) from error


def unanswered(error: ExecutorUnavailable, shown: str, meant: str) -> ExecutorUnavailable:
    """The same error for what may have been taken nevertheless, so that its record stays."""
    hint = f"`aboard jobs {shown}` tells whether it was taken all the same; if not, `aboard jobs again {meant}`"
    return ExecutorUnavailable(error.message, hint=f"{error.hint}; {hint}" if error.hint else hint)


def keep(one: PreparedJob, records: JobRecords) -> None:
    """Write down a job before it is submitted, with what is needed to submit it again; the token is not kept."""
    environment = {name: value for name, value in one.spec.environment.items() if name != TOKEN}
    write_owned(records.unit_file(one.record.id), json.dumps(unit_document(replace(one.spec, environment=environment))))
    records.write(one.record)


def _run_options(asked: JobAsked, run: str, workspace: str, experiment: str, commit: str, mirror: str) -> list[str]:
    tags = {**({"commit": commit} if commit else {}), **asked.tags}
    return [
        "run",
        f"--name={run}",
        f"--workspace={workspace}",
        *([f"--experiment={experiment}"] if experiment else []),
        *(f"--tag={name}={value}" if value else f"--tag={name}" for name, value in tags.items()),
        *([f"--mirror={mirror}"] if mirror else []),
        f"--grace={asked.grace:g}",
    ]


def _folder(source_dir: str | os.PathLike[str]) -> Path:
    return Path(source_dir).expanduser().absolute()


def _resources(asked: JobAsked) -> Resources:
    memory = parse_size(asked.memory) if isinstance(asked.memory, str) else asked.memory
    return Resources(cpus=asked.cpus, memory=memory, gpus=asked.gpus, gpu_type=asked.gpu_type)


def _commit_of(source_dir: str | os.PathLike[str] | None) -> str:
    """The commit of a source folder, because its copy is no work tree of git."""
    if source_dir is None or not may_be_work_tree(_folder(source_dir)):
        return ""
    command = ["git", "-C", str(_folder(source_dir)), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        told = subprocess.run([*command, "--exclude=*"], capture_output=True, check=False)
    except OSError:
        return ""
    return told.stdout.decode(errors="replace").strip() if told.returncode == 0 else ""
