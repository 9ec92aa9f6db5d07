# SPDX-License-Identifier: Apache-2.0
"""Sweeps: one command with many values of hyperparameters, as runs of one experiment.

On Slurm a sweep is one job array, on Kubernetes one Job with an index for each run. Elsewhere a queue beside the
process of the user submits a number of units at a time.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aboard.errors import ExecutorNotConfigured, ExecutorUnavailable, InvalidType, InvalidValue
from aboard.executors.executor import ArrayExecutor, Executor
from aboard.executors.local import Local
from aboard.jobs.job import Job, for_each
from aboard.jobs.submission import (
    JobPreparation,
    JobRequest,
    PreparedJob,
    unconfirmed_submission,
    undo_if_refused,
    write_prepared,
)
from aboard.jobs.unit_queue import RESTARTS, write_queue
from aboard.model.names import new_uid
from aboard.model.query.tree import value_text
from aboard.model.states import UnitState
from aboard.model.units import Mount, UnitSpec

if TYPE_CHECKING:
    from aboard.client.board import Board


MOST_JOBS = 10_000
HparamSets = Mapping[str, Sequence[object]] | Sequence[Mapping[str, object]]


def hparam_sets(given: HparamSets) -> list[dict[str, object]]:
    """Every combination of a grid (`{"lr": [0.1, 0.01], "width": [8, 16]}`), or the mappings of a list as they are."""
    if isinstance(given, Mapping):
        for name, values in given.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:  # pyright: ignore[reportUnnecessaryIsInstance]
                hint = "a grid has a list of values for each name, as {'lr': [0.1, 0.01]}"
                raise InvalidType(f"the grid has {values!r} for {name!r}, which is not a list of values", hint=hint)
        sets = [dict(zip(given, values, strict=True)) for values in itertools.product(*given.values())] if given else []
    else:
        sets = [dict(one) for one in given]
    if not sets:
        raise InvalidValue("a sweep needs values of hyperparameters", hint="give hparams={'lr': [0.1, 0.01]}")
    if len(sets) > MOST_JOBS:
        hint = f"at most {MOST_JOBS} go together; take fewer values, or several sweeps"
        raise InvalidValue(f"the sweep would be {len(sets)} jobs", hint=hint)
    return sets


class Sweep:
    """The jobs of a sweep, in the order of their hyperparameters."""

    def __init__(self, jobs: Sequence[Job], experiment: str, workspace: str) -> None:
        self.jobs, self.experiment, self.workspace = tuple(jobs), experiment, workspace

    @property
    def states(self) -> dict[UnitState, int]:
        """How many jobs are in which state now."""
        states = [job.status for job in self.jobs]
        return {state: states.count(state) for state in UnitState if state in states}

    def wait(self, timeout: float | None = None) -> dict[UnitState, int]:
        """How many jobs are in which state when all have ended, or after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        for job in self.jobs:
            job.wait(None if end is None else max(0.0, end - time.monotonic()))
        return self.states

    def cancel(self) -> None:
        """Ask for the end of every job; what still waits does not begin."""
        # Those that wait first, so that none of them takes a place that becomes free.
        for_each(reversed(self.jobs), Job.cancel)

    def tensorboard(self, **options: Any) -> Board:
        """A board over the experiment; runs appear in it as they begin."""
        from aboard.client.board import Board

        options.setdefault("display_name", self.experiment)
        where = f"workspace == {value_text(self.workspace)} and experiment == {value_text(self.experiment)}"
        return Board.create(where=where, **options)

    def __repr__(self) -> str:
        return f"Sweep(experiment={self.experiment!r}, jobs={len(self.jobs)})"


def plan_sweep(request: JobRequest, hparams: HparamSets, at_once: int | None) -> tuple[Executor, list[UnitSpec]]:
    """What `submit_sweep` would submit, and where to; nothing is sent, written or asked."""
    group = new_uid()
    named = replace(request, experiment=request.experiment or f"sweep-{group[-8:].lower()}")
    preparing, prepared = _prepare(named, hparams, at_once, group, copies=False)
    return preparing.executor, [one.spec for one in prepared]


def _prepare(
    named: JobRequest, hparams: HparamSets, at_once: int | None, group: str, *, copies: bool = True
) -> tuple[JobPreparation, list[PreparedJob]]:
    if at_once is not None and at_once < 1:
        raise InvalidValue(f"{at_once} jobs at a time are none", hint="give 1 or more, or leave it out")
    sets = hparam_sets(hparams)
    preparing = JobPreparation(named, copies=copies)
    stem = named.name or named.experiment
    width = len(str(len(sets) - 1))
    prepared = [
        preparing.prepared({**named.hparams, **one}, f"{stem}-{index:0{width}}", group)
        for index, one in enumerate(sets)
    ]
    return preparing, prepared


def submit_sweep(request: JobRequest, hparams: HparamSets, at_once: int | None) -> Sweep:
    """Submit the jobs of a sweep; those values that `request` has itself hold for all."""
    group = new_uid()
    named = replace(request, experiment=request.experiment or f"sweep-{group[-8:].lower()}")
    preparing, prepared = _prepare(named, hparams, at_once, group)
    try:
        with undo_if_refused(prepared, preparing.records):
            preparing.bring_source(group, [one.spec.id for one in prepared])
            if isinstance(preparing.executor, ArrayExecutor):
                jobs = _submit_as_array(preparing, preparing.executor, prepared, at_once)
            else:
                jobs = _submit_by_queue(preparing, prepared, group, at_once or max(1, (os.cpu_count() or 2) // 2))
    except ExecutorNotConfigured:
        raise
    except ExecutorUnavailable as error:
        meant = f"--experiment {named.experiment}"
        raise unconfirmed_submission(error, f"list {meant}", meant) from error
    return Sweep(jobs, named.experiment, prepared[0].record.workspace)


def _submit_as_array(
    preparing: JobPreparation, executor: ArrayExecutor, prepared: list[PreparedJob], at_once: int | None
) -> list[Job]:
    for one in prepared:
        write_prepared(one, preparing.records)
    handles = executor.submit_array([one.spec for one in prepared], at_once=at_once)
    records = [replace(one.record, handle=handle.text()) for one, handle in zip(prepared, handles, strict=True)]
    for record in records:
        preparing.records.write(record)
    return [Job(record, records=preparing.records) for record in records]


def _submit_by_queue(preparing: JobPreparation, prepared: list[PreparedJob], group: str, at_once: int) -> list[Job]:
    records = preparing.records
    path = records.place(group) / "queue.json"
    marks = [records.cancel_mark(one.record.id) for one in prepared]
    write_queue(path, preparing.executor, [one.spec for one in prepared], at_once, marks)
    here = Local()
    command = (sys.executable, "-m", "aboard.jobs.unit_queue", str(path))
    own = {"ABOARD_HOME": str(preparing.settings.home)}
    spec = UnitSpec(id=group, name="sweep", command=command, environment=own, restarts=RESTARTS)
    # Who dies before the queue has begun leaves records that say so.
    queue = here.handle(group, folder=str(here.folder_of(group)))
    written = [replace(one, record=replace(one.record, queue=queue.text())) for one in prepared]
    for one in written:
        write_prepared(one, records)
    here.submit(spec)
    return [Job(one.record, records=records) for one in written]


def sweep(
    command: str | Sequence[str],
    hparams: HparamSets,
    *,
    at_once: int | None = None,
    source_dir: str | os.PathLike[str] | None = None,
    executor: Executor | str | None = None,
    experiment: str = "",
    workspace: str | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    image: str = "",
    cpus: float | None = None,
    memory: int | str | None = None,
    gpus: int = 0,
    gpu_type: str = "",
    mounts: Sequence[Mount] = (),
    service_account: str = "",
    timeout: float | str | timedelta | None = None,
    grace: float = 30.0,
    restarts: int = 0,
    program: str = "",
) -> Sweep:
    """Run a command once for each combination of a grid, or for each mapping of a list, as runs of one experiment.

    `at_once` says how many run at a time: on Slurm all that fit, elsewhere one for each two processors. The rest is as
    for `submit`; runs are called `NAME-0`, `NAME-1` and so on, after `name` or the experiment.
    """
    request = JobRequest(
        command=command,
        source_dir=source_dir,
        executor=executor,
        experiment=experiment,
        workspace=workspace,
        name=name,
        tags=tags or {},
        environment=environment or {},
        image=image,
        cpus=cpus,
        memory=memory,
        gpus=gpus,
        gpu_type=gpu_type,
        mounts=mounts,
        service_account=service_account,
        timeout=timeout,
        grace=grace,
        restarts=restarts,
        program=program,
    )
    return submit_sweep(request, hparams, at_once)
