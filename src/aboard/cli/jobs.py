# SPDX-License-Identifier: Apache-2.0
"""`aboard jobs`: what was submitted, how it is doing, what it prints, and its end."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from aboard.cli.output import say
from aboard.cli.parsing import Json, ListingGroup

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
    from aboard.cli.submit import show_logs
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
