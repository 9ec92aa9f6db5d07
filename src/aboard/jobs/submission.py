# SPDX-License-Identifier: Apache-2.0
"""Submission of jobs: a training command becomes a unit that runs `aboard run` where the executor starts it.

Units of an executor that shares no files with this machine find runs, settings and source in the store or the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from aboard.client.transport import Address
from aboard.config.credentials import client_settings
from aboard.config.declarations import parse_size
from aboard.config.settings import Settings
from aboard.errors import AboardError, ExecutorNotConfigured, ExecutorUnavailable, InvalidValue, StorageUnavailable
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_from
from aboard.executors.source_archive import find_links_out, refuse_links_out, source_files
from aboard.foundation.file_systems import may_be_work_tree
from aboard.jobs.cancellation import mark_variables
from aboard.jobs.command import HPARAMS, default_run_name, fill_in_hparams, split_command, unit_name_from
from aboard.jobs.records import JobRecord, JobRecords, unit_to_json, write_owned
from aboard.jobs.sources import SOURCE_VARIABLE as SOURCE_KEY
from aboard.jobs.sources import PackedSource, forget_source
from aboard.model.hparams import flat_hparams, hparams_to_json
from aboard.model.names import check_name, check_workspace_name, new_uid
from aboard.model.times import now, parse_duration, time_text
from aboard.model.units import Mount, Resources, UnitHandle, UnitSpec
from aboard.store.uri import parse_uri

TOKEN_VARIABLE = "ABOARD_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, kw_only=True)
class ExecutionSite:
    """What a unit needs so that `aboard run` works there."""

    program: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...] = ()
    shares_files: bool = field(default=False)
    keeps_disk: bool = field(default=False)


def execution_site(executor: Executor, settings: Settings, store: str, program: str = "") -> ExecutionSite:
    """How runs get from the units of an executor into `store`; refuses a store that they cannot reach."""
    shares = executor.shares_files
    own = (program,) if program else (sys.executable, "-m", "aboard") if shares else ("aboard",)
    environment = {"ABOARD_STORE": store, **_server(settings, shares=shares)}
    if shares:
        environment["ABOARD_HOME"] = str(settings.home)
        return ExecutionSite(program=own, environment=environment, shares_files=True, keeps_disk=executor.keeps_disk)
    if "://" in store:
        return ExecutionSite(program=own, environment=environment, keeps_disk=executor.keeps_disk)
    if executor.takes_mounts and executor.is_here:
        _make_folder(Path(store))
        return ExecutionSite(program=own, environment=environment, mounts=(Mount(source=store, target=store),))
    if executor.knows_paths:
        executor.check_path(store)
        return ExecutionSite(program=own, environment=environment)
    hint = "keep runs where both sides can: ABOARD_STORE=s3://BUCKET/PATH, or gs://, az://, oss://"
    raise InvalidValue(f"units of {executor.name} cannot see the store {store}", hint=hint)


def source_for(executor: Executor, source_dir: str | os.PathLike[str] | None, copy: Path, *, shares: bool) -> str:
    """The folder in which the command runs, when `bring_source` has brought it there.

    Where units see the files of this machine they get a copy, so that what is changed while a job waits does not
    change the job; without a source folder they run where the person is.
    """
    if source_dir is None:
        return str(Path.cwd()) if shares else ""
    if shares:
        return str(copy)
    # Where the executor does not bring it, it goes through the store.
    return str(Path(source_dir).expanduser().absolute()) if executor.brings_source else ""


def bring_source(folder: Path, copy: Path, *, copies: bool) -> None:
    """Copy a source folder, without what git ignores; or have an error now, and not when everything else was made."""
    names = source_files(folder)
    if not copies:
        refuse_links_out(folder, [name for name in names if not _is_absolute_link(folder / name)])
        return
    try:
        leading_out = set(find_links_out(folder, names))
        for name in names:
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if name in leading_out:  # from the place of the copy it would lead elsewhere
                target.symlink_to((folder / name).parent / (folder / name).readlink())
            else:
                shutil.copy2(folder / name, target, follow_symlinks=False)
        copy.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "have git ignore what cannot be read, and look whether there is space"
        raise StorageUnavailable(f"the source folder {folder} cannot be copied: {error}", hint=hint) from error


def _is_absolute_link(path: Path) -> bool:
    """A container may have the same folder, by a mount or in its image."""
    return path.is_symlink() and path.readlink().is_absolute()


def _server(settings: Settings, *, shares: bool) -> dict[str, str]:
    """The server of the person; one of this machine is not there for others, and finds runs in the store itself."""
    if not settings.server or (Address.of(settings.server, None).is_loopback and not shares):
        return {}
    return {"ABOARD_SERVER": settings.server, **({TOKEN_VARIABLE: settings.token} if settings.token else {})}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"the store {folder} cannot be made: {error.strerror}") from error


TIMEOUT_VARIABLE = "ABOARD_UNIT_TIMEOUT"
"""The variable by which `aboard run` knows that its time was over when it is asked to end."""
JOB_LABEL = "aboard.job"
_FLUSH_SECONDS = 30.0  # for what a run still has to ship, after the grace of its command


@dataclass(frozen=True, kw_only=True)
class JobRequest:
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


class JobPreparation:
    """Turns a request into jobs. Everything that can be wrong is found before anything is submitted."""

    def __init__(self, request: JobRequest, *, copies: bool = True) -> None:
        """With `copies=False` nothing is written: for a dry run."""
        self._copies = copies
        self.settings: Settings = client_settings({"workspace": request.workspace})
        self.records = JobRecords(self.settings.home)
        self.executor = executor_from(request.executor, self.settings.executor or "local")
        self._request = request
        store = parse_uri(self.settings.store)
        kept = str(store.path) if store.path is not None else store.uri
        self._site: ExecutionSite = execution_site(self.executor, self.settings, kept, request.program)
        self._store = kept
        self._words = split_command(request.command)
        self._sent = self._source_to_send()
        self._commit = _commit_of(request.source_dir)

    def prepared(self, hparams: Mapping[str, object], name: str | None, group: str = "") -> PreparedJob:
        """A job with these hyperparameters, alone or one of a sweep; all jobs of a sweep run in one source folder."""
        request, unit = self._request, new_uid()
        values = flat_hparams(hparams)
        words = fill_in_hparams(self._words, values)
        run = default_run_name(words, unit) if name is None else check_name(name, "a run")
        workspace = check_workspace_name(self.settings.workspace)
        experiment = check_name(request.experiment, "an experiment") if request.experiment else ""
        # A TensorBoard that the executor keeps reads a folder of its own.
        mirror: str = getattr(self.executor, "tensorboard_log_dir", "")
        options = _run_options(request, run, workspace, experiment, self._commit, mirror)
        if request.restarts and not self.executor.restarts_failures:
            options.append(f"--restarts={request.restarts}")
        if not self._site.keeps_disk:
            options.append("--must-ship")
        timeout = None if request.timeout is None else parse_duration(request.timeout, "timeout").total_seconds()
        mark = self.records.cancel_mark(unit)
        spec = UnitSpec(
            id=unit,
            name=unit_name_from(run),
            command=(*self._site.program, *options, "--", *words),
            image=request.image,
            source=self._source(group or unit),
            environment={
                **self._site.environment,
                HPARAMS: json.dumps(hparams_to_json(values)),
                **({SOURCE_KEY: self._sent.key} if self._sent is not None else {}),
                **mark_variables(unit, mark, shares_files=self._site.shares_files),
                **({TIMEOUT_VARIABLE: f"{timeout:g}"} if timeout is not None else {}),
                **request.environment,
            },
            mounts=(*self._site.mounts, *request.mounts),
            resources=_resources(request),
            service_account=request.service_account,
            timeout=timeout,
            grace=request.grace + _FLUSH_SECONDS,
            restarts=request.restarts,
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
        elif self._request.source_dir is not None:
            bring_source(
                _absolute_folder(self._request.source_dir), self._copy_for(owner), copies=self._site.shares_files
            )

    def _source_to_send(self) -> PackedSource | None:
        given = self._request.source_dir
        if given is None or self._site.shares_files or self.executor.brings_source:
            return None
        return PackedSource.of(_absolute_folder(given))

    def _source(self, owner: str) -> str:
        """The source folder as a unit finds it."""
        if not self._copies:
            return "" if self._request.source_dir is None else str(_absolute_folder(self._request.source_dir))
        copy = self._copy_for(owner)
        return source_for(self.executor, self._request.source_dir, copy, shares=self._site.shares_files)

    def _copy_for(self, owner: str) -> Path:
        return self.records.place(owner) / "source"


def plan_job(request: JobRequest) -> tuple[Executor, list[UnitSpec]]:
    """What `submit_job` would submit, and where to; nothing is sent, written or asked."""
    preparing = JobPreparation(request, copies=False)
    return preparing.executor, [preparing.prepared(request.hparams, request.name).spec]


@contextlib.contextmanager
def undo_if_refused(jobs: Sequence[PreparedJob], records: JobRecords) -> Generator[None]:
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
    write_prepared(one, records)
    handle = _submit_unit(one, executor)
    record = replace(one.record, handle=handle.text())
    records.write(record)
    return record


def _submit_unit(one: PreparedJob, executor: Executor) -> UnitHandle:
    """Its handle, also when only the answer to the submission was lost."""
    try:
        return executor.submit(one.spec)
    except ExecutorNotConfigured:
        raise
    except ExecutorUnavailable as error:
        with contextlib.suppress(AboardError):
            if (handle := executor.find(one.spec.id)) is not None:
                return handle
        raise unconfirmed_submission(error, f"show {one.record.id}", one.record.id) from error


def unconfirmed_submission(error: ExecutorUnavailable, shown: str, meant: str) -> ExecutorUnavailable:
    """The same error for what may have been taken nevertheless, so that its record stays."""
    hint = f"`aboard jobs {shown}` tells whether it was taken all the same; if not, `aboard jobs again {meant}`"
    return ExecutorUnavailable(error.message, hint=f"{error.hint}; {hint}" if error.hint else hint)


def write_prepared(one: PreparedJob, records: JobRecords) -> None:
    """Write down a job before it is submitted, with what is needed to submit it again; the token is not kept."""
    environment = {name: value for name, value in one.spec.environment.items() if name != TOKEN_VARIABLE}
    write_owned(records.unit_file(one.record.id), json.dumps(unit_to_json(replace(one.spec, environment=environment))))
    records.write(one.record)


def _run_options(request: JobRequest, run: str, workspace: str, experiment: str, commit: str, mirror: str) -> list[str]:
    tags = {**({"commit": commit} if commit else {}), **request.tags}
    return [
        "run",
        f"--name={run}",
        f"--workspace={workspace}",
        *([f"--experiment={experiment}"] if experiment else []),
        *(f"--tag={name}={value}" if value else f"--tag={name}" for name, value in tags.items()),
        *([f"--mirror={mirror}"] if mirror else []),
        f"--grace={request.grace:g}",
    ]


def _absolute_folder(source_dir: str | os.PathLike[str]) -> Path:
    return Path(source_dir).expanduser().absolute()


def _resources(request: JobRequest) -> Resources:
    memory = parse_size(request.memory) if isinstance(request.memory, str) else request.memory
    return Resources(cpus=request.cpus, memory=memory, gpus=request.gpus, gpu_type=request.gpu_type)


def _commit_of(source_dir: str | os.PathLike[str] | None) -> str:
    """The commit of a source folder, because its copy is no work tree of git."""
    if source_dir is None or not may_be_work_tree(_absolute_folder(source_dir)):
        return ""
    command = ["git", "-C", str(_absolute_folder(source_dir)), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        told = subprocess.run([*command, "--exclude=*"], capture_output=True, check=False)
    except OSError:
        return ""
    return told.stdout.decode(errors="replace").strip() if told.returncode == 0 else ""
