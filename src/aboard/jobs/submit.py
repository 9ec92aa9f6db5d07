# SPDX-License-Identifier: Apache-2.0
"""`aboard.submit`: run a training command as a run, where an executor starts it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta

from aboard.executors.executor import Executor
from aboard.jobs.job import Job
from aboard.jobs.submission import JobPreparation, JobRequest, submit_prepared, undo_if_refused
from aboard.model.units import Mount


def submit(
    command: str | Sequence[str],
    *,
    source_dir: str | os.PathLike[str] | None = None,
    executor: Executor | str | None = None,
    hparams: Mapping[str, object] | None = None,
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
) -> Job:
    """Run a training command as a run, where an executor starts it. It outlives the process that calls this.

    Args:
        command: Words, or a line; `{hparams.lr}` in it stands for a value.
        source_dir: Sent along, without what git ignores; the command runs in it. None: local processes and jobs of
            Slurm run in the current folder.
        executor: As `aboard.executors.Slurm(partition="gpu")` or `"slurm:partition=gpu"`; None: the one of the
            settings, which is `local` unless somebody has said otherwise.
        hparams: Kept with the run, and given to the command as JSON in ABOARD_HPARAMS.
        experiment: Which runs it belongs with.
        workspace: Where the run belongs.
        name: Of the run; one that is there is gone on with.
        tags: Of the run.
        environment: Further variables of the command.
        image: For containers; it needs aboard in it.
        cpus: How many.
        memory: Bytes, or a text as 16GiB.
        gpus: How many.
        gpu_type: Which, where the executor can choose.
        mounts: Folders of the machine that a container sees.
        service_account: Who the unit is, on Kubernetes.
        timeout: Seconds, or a text as 2h, after which it is ended.
        grace: Seconds in which the command may end when it is asked to.
        restarts: How often it is started again in all, after a failure or when it was killed, as the same run.
        program: The program `aboard` on the other side, where it is not on the path.
    """
    return submit_job(
        JobRequest(
            command=command,
            source_dir=source_dir,
            executor=executor,
            hparams=hparams or {},
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
    )


def submit_job(request: JobRequest) -> Job:
    preparing = JobPreparation(request)
    one = preparing.prepared(request.hparams, request.name)
    with undo_if_refused([one], preparing.records):
        preparing.bring_source(one.spec.id, [one.spec.id])
        record = submit_prepared(one, preparing.executor, preparing.records)
    return Job(record, records=preparing.records)
