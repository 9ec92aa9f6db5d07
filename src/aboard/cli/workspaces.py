# SPDX-License-Identifier: Apache-2.0
"""`aboard workspaces …`: the areas that own experiments and runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aboard.cli.parsing import Csv, Json, ListingGroup, Yes

app = typer.Typer(cls=ListingGroup, help="List, show, make, rename and delete workspaces.", rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="WORKSPACE")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]


@app.command("list")
def list_(
    *,
    in_bin: Annotated[bool, typer.Option("--bin", help="Those in the bin.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List workspaces with how much is in them."""
    from aboard.cli.groups import list_workspaces

    list_workspaces(in_bin=in_bin, as_json=as_json, as_csv=as_csv)


@app.command()
def show(name: Name, *, as_json: Json = False) -> None:
    """Print a workspace and its experiments."""
    from aboard.cli.groups import show_workspace

    show_workspace(name, as_json=as_json)


@app.command()
def add(name: Name, *, description: Description = None, as_json: Json = False) -> None:
    """Make a workspace."""
    from aboard.cli.groups import add_workspace

    add_workspace(name, description or "", as_json=as_json)


@app.command()
def change(
    name: Name,
    *,
    new_name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    description: Description = None,
    as_json: Json = False,
) -> None:
    """Rename a workspace, describe it."""
    from aboard.cli.groups import change_workspace

    change_workspace(name, new_name, description, as_json=as_json)


@app.command()
def rename(name: Name, new_name: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """Give a workspace another name."""
    from aboard.cli.groups import change_workspace

    change_workspace(name, new_name, None, as_json=as_json)


@app.command()
def delete(
    name: Name,
    *,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put a workspace into the bin, with its experiments and runs."""
    from aboard.cli.groups import delete_workspace

    sys.exit(delete_workspace(name, yes=yes, as_json=as_json))


@app.command()
def restore(name: Name, *, as_json: Json = False) -> None:
    """Take a workspace out of the bin, and what went with it."""
    from aboard.cli.groups import restore_workspace

    restore_workspace(name, as_json=as_json)
