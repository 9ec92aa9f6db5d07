# SPDX-License-Identifier: Apache-2.0
"""`aboard runs …`: the options of its commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aboard.cli.parsing import Csv, ExportFormat, Json, ListingGroup, Yes

app = typer.Typer(
    cls=ListingGroup, help="List, show, compare, tag, move, delete and export runs.", rich_markup_mode=None
)

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        help="run343, several with commas, run10-run20, exp7, ws1/base*, a name or a uid.", show_default=False
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", help="Only runs for which a filter holds: 'hparams.lr < 0.01 and status == \"failed\"'."),
]
Workspaces = Annotated[list[str] | None, typer.Option("--workspace", "-w", help="Only of these; repeatable.")]
Bin = Annotated[bool, typer.Option("--bin", help="Runs that are in the bin.")]


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
    in_bin: Bin = False,
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


@app.command()
def show(run: Annotated[str, typer.Argument(help="run343, a name or a uid.")], *, as_json: Json = False) -> None:
    """Print all that is known of a run."""
    from aboard.cli.runs.details import show_run

    show_run(run, as_json=as_json)


@app.command()
def compare(
    first: Annotated[str, typer.Argument()],
    second: Annotated[str, typer.Argument()],
    *,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Print what differs between two runs."""
    from aboard.cli.runs.details import compare_runs

    compare_runs(first, second, as_json=as_json, as_csv=as_csv)


@app.command()
def tag(
    names: Runs = None,
    *,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    removed: Annotated[list[str] | None, typer.Option("--remove", help="NAME; repeatable.")] = None,
    where: Where = None,
    as_json: Json = False,
) -> None:
    """Give tags to runs, and take them away."""
    from aboard.cli.runs.changes import tag_runs

    sys.exit(tag_runs(names or [], tags or [], removed or [], where, as_json=as_json))


@app.command()
def note(
    names: Annotated[str, typer.Argument(metavar="RUNS", help="One, or several with commas.")],
    text: Annotated[str, typer.Argument()],
    *,
    as_json: Json = False,
) -> None:
    """Write a note about runs."""
    from aboard.cli.runs.changes import note_runs

    sys.exit(note_runs([names], text, as_json=as_json))


@app.command()
def rename(
    run: Annotated[str, typer.Argument()], name: Annotated[str, typer.Argument()], *, as_json: Json = False
) -> None:
    """Give a run another name; its number stays."""
    from aboard.cli.runs.changes import rename_run

    sys.exit(rename_run(run, name, as_json=as_json))


@app.command()
def move(
    names: Runs = None,
    *,
    workspace: Annotated[str | None, typer.Option("--workspace", "-w")] = None,
    experiment: Annotated[
        str | None, typer.Option("--experiment", "-e", help="Made when it is not there; '' takes them out of theirs.")
    ] = None,
    where: Where = None,
    as_json: Json = False,
) -> None:
    """Move runs to another workspace or experiment."""
    from aboard.cli.runs.changes import move_runs

    sys.exit(move_runs(names or [], workspace, experiment, where, as_json=as_json))


@app.command()
def delete(
    names: Runs = None,
    *,
    where: Where = None,
    files: Annotated[bool, typer.Option("--files", help="With all files in the store, for good.")] = False,
    in_bin: Bin = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put runs into the bin, or with --files delete them for good."""
    from aboard.cli.runs.changes import delete_runs

    sys.exit(delete_runs(names or [], where, files=files, in_bin=in_bin, yes=yes, as_json=as_json))


@app.command()
def restore(names: Runs = None, *, where: Where = None, as_json: Json = False) -> None:
    """Take runs out of the bin."""
    from aboard.cli.runs.changes import restore_runs

    sys.exit(restore_runs(names or [], where, as_json=as_json))


@app.command()
def retain(
    *,
    where: Where = None,
    workspaces: Workspaces = None,
    older_than: Annotated[str | None, typer.Option(help="30d, 12h, 2w since they ended.")] = None,
    keep: Annotated[int, typer.Option(min=0, help="So many stay in each experiment, the newest.")] = 0,
    files: Annotated[bool, typer.Option("--files", help="With all files in the store, for good.")] = False,
    in_bin: Bin = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell which would go.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete runs that are no longer to be kept; those that are not over always stay."""
    from aboard.cli.runs.changes import retain_runs

    code = retain_runs(
        where=where,
        workspaces=workspaces or [],
        older_than=older_than,
        keep=keep,
        files=files,
        in_bin=in_bin,
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )
    sys.exit(code)


@app.command()
def usage(
    *,
    by: Annotated[str, typer.Option(help="workspace, experiment, user, store or status.")] = "workspace",
    workspaces: Workspaces = None,
    in_bin: Bin = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Print what runs take in their stores."""
    from aboard.cli.runs.files import show_usage

    show_usage(by, workspaces or [], in_bin=in_bin, as_json=as_json, as_csv=as_csv)


@app.command()
def export(
    names: Runs = None,
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
