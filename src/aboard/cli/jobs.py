# SPDX-License-Identifier: Apache-2.0
"""`aboard submit` and `aboard jobs`: submit jobs, list them, print their output, wait for and cancel them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from aboard.cli.arguments import parse_tag
from aboard.cli.output import format_yaml_documents, say
from aboard.cli.parsing import Json, ListingGroup
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

app = typer.Typer(
    name="jobs",
    cls=ListingGroup,
    rich_markup_mode=None,
)
_Jobs = Annotated[list[str], typer.Argument(metavar="JOB...", help="Id, a part of it, or the name of the run.")]


@app.command("list")
def list_jobs(
    *,
    experiment: Annotated[str | None, typer.Option(help="Only those of an experiment.")] = None,
    as_json: Json = False,
) -> None:
    """Jobs, the oldest first, with their states now."""
    from aboard.cli.output import print_table
    from aboard.jobs.job import Job

    rows = [_row(job) for job in Job.list(experiment=experiment)]
    if as_json:
        typer.echo(json.dumps({"items": rows, "next": None}))
        return
    columns = ("id", "run", "experiment", "executor", "state", "reason")
    shown = [[_cell(name, row[name]) for name in columns] for row in rows]
    print_table([name.capitalize() for name in columns], shown)


@app.command()
def show(job: Annotated[str, typer.Argument(help="Id, a part of it, or the name of the run.")]) -> None:
    """All that is known of a job, as one JSON document."""
    from aboard.jobs.job import Job

    found = Job(job)
    typer.echo(json.dumps({**_row(found), "command": found.record.command, "created": found.record.created}, indent=1))


@app.command()
def logs(
    job: Annotated[str, typer.Argument(help="Id, a part of it, or the name of the run.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
) -> None:
    """What a job printed."""
    from aboard.jobs.job import Job

    show_logs(Job(job), follow=follow)


@app.command()
def cancel(jobs: _Jobs) -> None:
    """Ask for the end of jobs; those that wait do not begin."""
    from aboard.jobs.job import Job, for_each

    def cancelled(job: Job) -> None:
        job.cancel()
        say(f"Cancelled {job.name}.", sys.stderr)

    for_each([Job(job) for job in jobs], cancelled)


@app.command()
def wait(
    jobs: _Jobs, *, timeout: Annotated[float | None, typer.Option(min=0, help="Seconds to wait, all together.")] = None
) -> None:
    """Wait until jobs have ended; the exit code is 1 when one of them did not complete."""
    import time

    from aboard.jobs.job import Job

    end = None if timeout is None else time.monotonic() + timeout
    found = [Job(job) for job in jobs]
    ended = [
        (
            job,
            job.wait(
                None if end is None else max(0.0, end - time.monotonic()),
                on_message=lambda text, name=job.name: say(f"{name}: {text}", sys.stderr),
            ),
        )
        for job in found
    ]
    for job, status in ended:
        say(f"{job.name} {status.state.upper()}" + (f": {status.message}" if status.message else ""), sys.stderr)
    raise typer.Exit(0 if all(status.has_succeeded for _, status in ended) else 1)


@app.command()
def again(
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB...]", help="Id, a part of it, or the run's name.")
    ] = None,
    *,
    experiment: Annotated[
        str | None, typer.Option(help="All of an experiment that ended and did not complete.")
    ] = None,
) -> None:
    """Submit jobs once more that did not complete; their runs go on. Prints the ids of the new jobs."""
    from aboard.errors import InvalidValue
    from aboard.jobs.job import Job, incomplete_jobs

    if bool(jobs) == (experiment is not None):
        raise InvalidValue("Nothing says which jobs.", hint="Name jobs, or give --experiment NAME.")
    missed, forgotten = ([Job(job) for job in jobs or ()], []) if experiment is None else incomplete_jobs(experiment)
    for found in forgotten:
        say(f"Left out {found.name}, which its executor has forgotten: name it, if it did not complete.", sys.stderr)
    for found in missed:
        made = found.again()
        typer.echo(made.id)
        say(f"Submitted {made.name} to {made.record.executor} again.", sys.stderr)


@app.command()
def forget(jobs: _Jobs) -> None:
    """Remove what ended jobs left here; their runs stay."""
    from aboard.jobs.job import Job, for_each

    for_each([Job(job) for job in jobs], Job.forget)


def _row(job: Any) -> dict[str, Any]:
    """A job whose executor does not answer is still listed."""
    from aboard.errors import AboardError

    row: dict[str, Any] = {
        "id": job.id,
        "run": job.name,
        "experiment": job.experiment or None,
        "executor": job.record.executor,
    }
    try:
        info = job.refresh()
    except AboardError as error:
        return {**row, "state": "unknown", "reason": None, "message": str(error), "exit_code": None, "host": None}
    return {
        **row,
        "state": str(info.state),
        "reason": None if info.reason is None else str(info.reason),
        "message": info.message,
        "exit_code": info.exit_code,
        "host": info.host or None,
    }


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "N/A"
    return str(value).upper() if name == "state" else str(value)


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
