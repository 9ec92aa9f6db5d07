# SPDX-License-Identifier: Apache-2.0
"""The options of `aboard submit`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def submit(
    command: Annotated[list[str], typer.Argument(help="The command, best behind two dashes.", metavar="-- CMD...")],
    *,
    executor: Annotated[
        str | None,
        typer.Option(
            help="Where: local, docker, slurm:partition=gpu,time_limit=60 or kubernetes:namespace=ml.",
            show_default="`jobs.executor` of the settings, or local",
        ),
    ] = None,
    source_dir: Annotated[
        str | None,
        typer.Option("--source-dir", "--source", help="Folder to send along, without what git ignores."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; one that is there is gone on with.")] = None,
    workspace: Annotated[str | None, typer.Option(help="Where the run belongs.")] = None,
    experiment: Annotated[str, typer.Option(help="Which runs it belongs with.")] = "",
    hparams: Annotated[
        list[str] | None, typer.Option("--hparam", help="NAME=VALUE; {hparams.NAME} in the command; repeatable.")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", help="NAME=VALUE,VALUE: a sweep, one run for each combination; repeatable."),
    ] = None,
    at_once: Annotated[int | None, typer.Option("--at-once", min=1, help="Runs of a sweep at a time.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    environment: Annotated[list[str] | None, typer.Option("--env", help="NAME=VALUE; repeatable.")] = None,
    image: Annotated[str, typer.Option(help="For containers; it needs aboard in it.")] = "",
    cpus: Annotated[float | None, typer.Option(help="Processors.")] = None,
    memory: Annotated[str | None, typer.Option(help="As 16GiB.")] = None,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs.")] = 0,
    gpu_type: Annotated[str, typer.Option("--gpu-type", help="Which GPUs.")] = "",
    service_account: Annotated[
        str, typer.Option("--service-account", "--k8s-service-account", help="On Kubernetes.")
    ] = "",
    timeout: Annotated[str | None, typer.Option(help="Longest time, as 2h or 1m30s.")] = None,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to end in, when it is asked to.")] = 30.0,
    restarts: Annotated[
        int, typer.Option(min=0, max=1000, help="How often to start again after failures and kills.")
    ] = 0,
    program: Annotated[
        str, typer.Option(help="The program aboard on the other side.", show_default="this one, or `aboard`")
    ] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Show what it prints, and end as it does.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the executor would be given, as YAML, and submit nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run a training command as a run where an executor starts it; prints the ids of the jobs."""
    from aboard.cli.submit import SubmitOptions
    from aboard.cli.submit import submit as submitted
    from aboard.jobs.submitting import JobAsked

    asked = JobAsked(
        command=command,
        source_dir=source_dir,
        executor=executor,
        experiment=experiment,
        workspace=workspace,
        name=name,
        image=image,
        cpus=cpus,
        memory=memory,
        gpus=gpus,
        gpu_type=gpu_type,
        service_account=service_account,
        timeout=timeout,
        grace=grace,
        restarts=restarts,
        program=program,
    )
    options = SubmitOptions(
        hparams=hparams or [],
        grid=grid or [],
        tags=tags or [],
        environment=environment or [],
        at_once=at_once,
        wait=wait,
        dry_run=dry_run,
        as_json=as_json,
    )
    sys.exit(submitted(asked, options))
