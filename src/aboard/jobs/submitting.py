# SPDX-License-Identifier: Apache-2.0
"""A training command becomes a unit that runs `aboard run` where the executor starts it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from aboard.config.credentials import client_settings
from aboard.config.settings import Settings
from aboard.config.sizes import parse_size
from aboard.errors import AboardError
from aboard.executors.executor import Executor
from aboard.jobs.executor_text import executor_from
from aboard.jobs.job import Job
from aboard.jobs.job_command import HPARAMS, run_name_of, unit_name_of, with_values, words_of
from aboard.jobs.job_record import JobRecord, JobRecords, write_owned
from aboard.jobs.other_side import TAKES_SOURCE, TOKEN, OtherSide, other_side, source_for
from aboard.jobs.sent_source import VARIABLE as SOURCE_KEY
from aboard.jobs.sent_source import SentSource
from aboard.jobs.unit_document import unit_document
from aboard.model.durations import parse_duration
from aboard.model.hparams import flat_hparams, hparams_to_json
from aboard.model.names import check_name, check_workspace_name
from aboard.model.times import now, time_text
from aboard.model.uid import new_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_parts import Mount, Resources
from aboard.store.uri import parse_uri

CANCEL_MARK = "ABOARD_CANCEL_MARK"
"""The variable that tells `aboard run` which file is there when the end of its job was wanted."""
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

    def prepared(self, hparams: Mapping[str, object], name: str | None, source: str | None = None) -> PreparedJob:
        """A job with these hyperparameters; `source` is a folder that was copied before."""
        asked, unit = self._asked, new_uid()
        values = flat_hparams(hparams)
        words = with_values(self._words, values)
        run = run_name_of(words, unit) if name is None else check_name(name, "a run")
        workspace = check_workspace_name(self.settings.workspace)
        experiment = check_name(asked.experiment, "an experiment") if asked.experiment else ""
        # A TensorBoard that the executor keeps reads a folder of its own.
        mirror: str = getattr(self.executor, "tensorboard_log_dir", "")
        options = _run_options(asked, run, workspace, experiment, self._commit, mirror)
        if not self._side.keeps_disk:
            options.append("--must-ship")
        spec = UnitSpec(
            id=unit,
            name=unit_name_of(run),
            command=(*self._side.program, *options, "--", *words),
            image=asked.image,
            source=self.source(unit) if source is None else source,
            environment={
                **self._side.environment,
                HPARAMS: json.dumps(hparams_to_json(values)),
                **({SOURCE_KEY: self._sent.key} if self._sent is not None else {}),
                CANCEL_MARK: str(self.records.cancel_mark(unit)),
                **asked.environment,
            },
            mounts=(*self._side.mounts, *asked.mounts),
            resources=_resources(asked),
            service_account=asked.service_account,
            timeout=None if asked.timeout is None else parse_duration(asked.timeout, "timeout").total_seconds(),
            grace=asked.grace + _FLUSH_SECONDS,
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
        )
        return PreparedJob(record=record, spec=spec)

    def send_source(self) -> None:
        """Have the source where units find it, if it goes through the store."""
        if self._sent is not None:
            self._sent.send(self._store)

    def _source_to_send(self) -> SentSource | None:
        given = self._asked.source_dir
        if given is None or self._side.shares_files or self.executor.name in TAKES_SOURCE:
            return None
        return SentSource.of(Path(given).expanduser().absolute())

    def source(self, unit: str) -> str:
        """The source folder as a unit finds it, copied where that is needed."""
        if not self._copies:
            return "" if self._asked.source_dir is None else str(Path(self._asked.source_dir).expanduser().absolute())
        copy = self.records.place(unit) / "source"
        return source_for(self.executor, self._asked.source_dir, copy, shares=self._side.shares_files)


def planned_job(asked: JobAsked) -> tuple[Executor, list[UnitSpec]]:
    """What `submit_job` would submit, and where to; nothing is sent, written or asked."""
    preparing = Preparing(asked, copies=False)
    return preparing.executor, [preparing.prepared(asked.hparams, asked.name).spec]


def submit_job(asked: JobAsked) -> Job:
    """Submit one job."""
    preparing = Preparing(asked)
    one = preparing.prepared(asked.hparams, asked.name)
    preparing.send_source()
    return submit_prepared(one, preparing.executor, preparing.records)


def submit_prepared(one: PreparedJob, executor: Executor, records: JobRecords) -> Job:
    """Submit a job that was prepared, with a record before and after."""
    keep(one, records)
    try:
        handle = executor.submit(one.spec)
    except AboardError:
        records.remove(one.record.id)
        raise
    record = replace(one.record, handle=handle.text())
    records.write(record)
    return Job(record, records=records)


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
        *([f"--restarts={asked.restarts}"] if asked.restarts else []),
    ]


def _resources(asked: JobAsked) -> Resources:
    memory = parse_size(asked.memory) if isinstance(asked.memory, str) else asked.memory
    return Resources(cpus=asked.cpus, memory=memory, gpus=asked.gpus, gpu_type=asked.gpu_type)


def _commit_of(source_dir: str | os.PathLike[str] | None) -> str:
    """The commit of a source folder, because its copy is no work tree of git."""
    if source_dir is None:
        return ""
    command = ["git", "-C", str(Path(source_dir).expanduser()), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        told = subprocess.run([*command, "--exclude=*"], capture_output=True, check=False)
    except OSError:
        return ""
    return told.stdout.decode(errors="replace").strip() if told.returncode == 0 else ""
