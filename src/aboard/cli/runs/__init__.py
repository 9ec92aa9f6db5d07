# SPDX-License-Identifier: Apache-2.0
"""`aboard runs …`: its commands. Those with much work are in the modules that do it."""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.parsing import Csv, ExportFormat, Json, ListingGroup, RunsInTrash, RunWords, Where, Workspaces
from aboard.cli.runs import changes, details

app = typer.Typer(cls=ListingGroup, rich_markup_mode=None)


@app.command("list")
def list_(
    *,
    where: Annotated[str | None, typer.Option("--where", help="A filter; see docs/filters.md.")] = None,
    workspaces: Workspaces = None,
    experiment: Annotated[str | None, typer.Option("--experiment", "-e", help="exp7, or its name.")] = None,
    statuses: Annotated[
        list[str] | None, typer.Option("--status", help="Such as running or failed; repeatable.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable: all of them.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only of this person.")] = None,
    sort: Annotated[
        str | None, typer.Option(help="A field, with a minus for the largest first.", show_default="newest first")
    ] = None,
    group: Annotated[str | None, typer.Option(help="A table for each value of a field.")] = None,
    last: Annotated[int, typer.Option("--last", "-n", min=1, max=1000, help="How many.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="Separated by commas: name, hparams.lr=LR, metrics.loss.min:.3f.",
            show_default="run,name,workspace,experiment,status,created,duration,tags",
        ),
    ] = None,
    add_columns: Annotated[str | None, typer.Option("--add-columns", help="Besides the usual ones.")] = None,
    available: Annotated[bool, typer.Option("--available", help="Print the names of all columns.")] = False,
    in_bin: RunsInTrash = False,
    precision: Annotated[int, typer.Option(min=1, max=17, help="Digits of numbers.")] = 4,
    max_width: Annotated[int, typer.Option(min=0, help="Widest column; 0: any width.")] = 40,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List runs, newest first."""
    from aboard.cli.runs.listing import ListOptions, list_runs

    list_runs(
        ListOptions(
            where=where,
            workspaces=workspaces or [],
            experiment=experiment,
            statuses=statuses or [],
            tags=tags or [],
            user=user,
            sort=sort,
            group=group,
            last=last,
            everything=everything,
            columns=columns,
            add_columns=add_columns,
            available=available,
            in_bin=in_bin,
            precision=precision,
            max_width=max_width,
            as_json=as_json,
            as_csv=as_csv,
        )
    )


for command in (
    details.show,
    details.compare,
    changes.tag,
    changes.note,
    changes.rename,
    changes.move,
    changes.delete,
    changes.restore,
    changes.retain,
):
    app.command()(command)


@app.command()
def usage(
    *,
    by: Annotated[str, typer.Option(help="workspace, experiment, user, store or status.")] = "workspace",
    workspaces: Workspaces = None,
    in_bin: RunsInTrash = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Print what runs take in their stores."""
    from aboard.cli.runs.files import show_usage

    show_usage(by, workspaces or [], in_bin=in_bin, as_json=as_json, as_csv=as_csv)


@app.command()
def export(
    names: RunWords = None,
    *,
    where: Where = None,
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - is standard output.")] = "-",
    form: Annotated[
        ExportFormat | None, typer.Option("--format", help="Without it the suffix of the output tells, else csv.")
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only such series, as with `aboard export`.")] = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Also points that were logged anew.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    through_server: Annotated[
        bool,
        typer.Option("--through-server", help="Ask the server for the points, where you may not read the stores."),
    ] = False,
) -> None:
    """Write every point of every curve of runs as CSV, Parquet or JSON."""
    from aboard.cli.runs.files import export_runs

    export_runs(
        *(names or [], where, output, form, tags or []),
        superseded=superseded,
        force=force,
        through_server=through_server,
    )
