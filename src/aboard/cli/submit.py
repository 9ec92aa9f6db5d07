# SPDX-License-Identifier: Apache-2.0
"""`aboard submit [OPTIONS] -- CMD…`: a training command as a run, where an executor starts it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import typer

from aboard.cli.arguments import parse_tag
from aboard.cli.output import format_yaml_documents, say
from aboard.cli.run import parse_hparam, parse_hparam_value
from aboard.errors import InvalidValue
from aboard.jobs.job import Job
from aboard.jobs.submission import JobRequest, plan_job
from aboard.jobs.submit import submit_job
from aboard.jobs.sweep import plan_sweep, submit_sweep
from aboard.model.names import is_secret_name
from aboard.model.states import UnitState
from aboard.model.units import UnitSpec
from aboard.run.secrets import MASK


@dataclass(frozen=True, kw_only=True)
class SubmitOptions:
    """What was typed besides the job itself."""

    hparams: Sequence[str]
    grid: Sequence[str]
    tags: Sequence[str]
    environment: Sequence[str]
    at_once: int | None
    wait: bool
    dry_run: bool
    as_json: bool


def submit(asked: JobRequest, options: SubmitOptions) -> int:
    """Submit one job, or a sweep where there is a grid; the exit code."""
    asked = replace(
        asked,
        hparams=dict(map(parse_hparam, options.hparams)),
        tags=dict(map(parse_tag, options.tags)),
        environment=dict(map(_variable, options.environment)),
    )
    if options.at_once is not None and not options.grid:
        raise InvalidValue("--at-once is for sweeps.", hint="Add --grid NAME=VALUE,VALUE, or leave it out.")
    if options.dry_run:
        return _print_preview(asked, options)
    if options.grid:
        made = submit_sweep(asked, dict(map(_axis, options.grid)), options.at_once)
        jobs = list(made.jobs)
    else:
        jobs = [submit_job(asked)]
    if options.as_json:
        items = [{"id": job.id, "run": job.name, "experiment": job.experiment} for job in jobs]
        typer.echo(json.dumps({"items": items, "next": None}))
    else:
        for job in jobs:
            typer.echo(job.id)
            say(
                f"Submitted {job.name} to {job.record.executor}; `aboard jobs logs -f {job.name}` follows it.",
                sys.stderr,
            )
    if not options.wait:
        return 0
    try:
        return _wait_for_jobs(jobs)
    except KeyboardInterrupt:
        _tell_left(jobs)
        raise


def _print_preview(asked: JobRequest, options: SubmitOptions) -> int:
    """Print what the executor would be given, and give it nothing."""
    if options.grid:
        executor, specs = plan_sweep(asked, dict(map(_axis, options.grid)), options.at_once)
    else:
        executor, specs = plan_job(asked)
    documents = executor.preview([_without_secrets(spec) for spec in specs], at_once=options.at_once)
    if options.as_json:
        typer.echo(json.dumps({"items": documents, "next": None}))
    else:
        typer.echo(format_yaml_documents(documents), nl=False)
    say("Nothing was submitted. Values of secrets are not shown.", sys.stderr)
    return 0


def _without_secrets(spec: UnitSpec) -> UnitSpec:
    shown = {name: MASK if is_secret_name(name) else value for name, value in spec.environment.items()}
    return replace(spec, environment=shown)


def _wait_for_jobs(jobs: Sequence[Job]) -> int:
    """Show what a single job prints, and wait for all."""
    if len(jobs) == 1:
        show_logs(jobs[0], follow=True)
    failed = 0
    for job in jobs:
        status = job.wait(on_message=lambda text, name=job.name: say(f"{name}: {text}", sys.stderr))
        if not status.has_succeeded:
            failed += 1
            why = f": {status.message}" if status.message else ""
            state = "cancelled" if status.state is UnitState.STOPPED else str(status.state)
            say(f"{job.name} {state}{why}", sys.stderr)
    return 1 if failed else 0


def _tell_left(jobs: Sequence[Job]) -> None:
    """Ctrl-C ends the waiting, and not the jobs, which are processes of their own."""
    if len(jobs) == 1:
        name = jobs[0].name
        followed = f"Follow it with `aboard jobs logs -f {name}`, end it with `aboard jobs cancel {name}`."
        text = f"{name} keeps running. {followed}"
    else:
        several = f"The {len(jobs)} jobs of {jobs[0].experiment} keep running."
        text = f"{several} List them with `aboard jobs list --experiment {jobs[0].experiment}`."
    say(text, sys.stderr)


def show_logs(job: Job, *, follow: bool) -> None:
    """Write what a job printed, as it is, to standard output; say why one that is followed does not start."""
    if follow:
        job.wait(until_started=True, on_message=lambda text: say(f"{job.name}: {text}", sys.stderr))
    for piece in job.logs(follow=follow):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _axis(text: str) -> tuple[str, list[object]]:
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise InvalidValue(f"--grid {text!r} is not NAME=VALUE,VALUE.", hint="Write --grid lr=0.1,0.01.")
    return name.strip(), [parse_hparam_value(value.strip()) for value in values.split(",")]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidValue(f"--env {text!r} is not NAME=VALUE.", hint="Write --env OMP_NUM_THREADS=4.")
    return name, value
