# SPDX-License-Identifier: Apache-2.0
"""`aboard experiments …`: groups of runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aboard.cli.parsing import Csv, Json, ListingGroup, Yes

app = typer.Typer(cls=ListingGroup, help="List, show, make, rename, tag and delete experiments.", rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="exp7, job7, 7, a name or workspace/name.")]
Description = Annotated[str | None, typer.Option(help="What it is about.")]


@app.command("list")
def list_(
    *,
    workspaces: Annotated[list[str] | None, typer.Option("--workspace", "-w", help="Only of these.")] = None,
    last: Annotated[int, typer.Option("--last", "-n", min=1, max=1000, help="How many.")] = 50,
    in_bin: Annotated[bool, typer.Option("--bin", help="Those in the bin.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List experiments, newest first, with how many runs are in which state."""
    from aboard.cli.groups import list_experiments

    list_experiments(workspaces or [], last, in_bin=in_bin, as_json=as_json, as_csv=as_csv)


@app.command()
def show(name: Name, *, as_json: Json = False) -> None:
    """Print an experiment and its runs."""
    from aboard.cli.groups import show_experiment

    show_experiment(name, as_json=as_json)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="name, or workspace/name.")],
    *,
    description: Description = None,
    as_json: Json = False,
) -> None:
    """Make an experiment."""
    from aboard.cli.groups import add_experiment

    add_experiment(name, description or "", as_json=as_json)


@app.command()
def change(
    name: Name,
    *,
    new_name: Annotated[str | None, typer.Option("--name", help="A new name; its number stays.")] = None,
    description: Description = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    removed: Annotated[list[str] | None, typer.Option("--remove", help="A tag to take away; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Rename an experiment, describe it, tag it."""
    from aboard.cli.groups import change_experiment

    change_experiment(name, new_name, description, tags or [], removed or [], as_json=as_json)


@app.command()
def rename(name: Name, new_name: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """Give an experiment another name."""
    from aboard.cli.groups import change_experiment

    change_experiment(name, new_name, None, [], [], as_json=as_json)


@app.command()
def delete(
    name: Name,
    *,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put an experiment into the bin, with its runs."""
    from aboard.cli.groups import delete_experiment

    sys.exit(delete_experiment(name, yes=yes, as_json=as_json))


@app.command()
def restore(name: Name, *, as_json: Json = False) -> None:
    """Take an experiment out of the bin, with the runs that went with it."""
    from aboard.cli.groups import restore_experiment

    restore_experiment(name, as_json=as_json)
