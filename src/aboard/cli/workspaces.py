# SPDX-License-Identifier: Apache-2.0
"""`aboard workspaces …`: the areas that own experiments and runs."""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.arguments import confirm
from aboard.cli.experiments import list_experiments
from aboard.cli.output import MAX_WIDTH, format_bytes, format_value, print_csv, print_json, print_pairs, print_table
from aboard.cli.parsing import Csv, Json, ListingGroup, Yes
from aboard.client.client import Client
from aboard.errors import InvalidValue
from aboard.foundation.text import count
from aboard.model.groups import Workspace

app = typer.Typer(cls=ListingGroup, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="WORKSPACE")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]


@app.command("list")
def list_workspaces(
    *,
    in_bin: Annotated[bool, typer.Option("--bin", help="Those in the bin.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List workspaces with how much is in them."""
    page = Client().workspaces.list(in_bin=in_bin)
    titles = ["workspace", "created", "experiments", "runs", "size", "description"]
    if as_json:
        print_json(page)
    elif as_csv:
        rows = [(one.name, one.created, one.experiments, one.runs, one.bytes, one.description) for one in page.items]
        print_csv([*titles[:4], "bytes", "description"], rows)
    else:
        shown_rows = [
            [
                one.name,
                format_value(one.created),
                str(one.experiments),
                str(one.runs),
                format_bytes(one.bytes),
                format_value(one.description),
            ]
            for one in page.items
        ]
        print_table(titles, shown_rows, right=[False, False, True, True, True], max_width=2 * MAX_WIDTH)


@app.command()
def show(name: Name, *, as_json: Json = False) -> None:
    """Print a workspace and its experiments."""
    workspace = Client().workspaces.get(name)
    if as_json:
        print_json(workspace)
        return
    print_pairs(
        {
            "workspace": workspace.name,
            "created": format_value(workspace.created),
            "description": format_value(workspace.description),
            "experiments": str(workspace.experiments),
            "runs": str(workspace.runs),
            "size": format_bytes(workspace.bytes),
            **({"deleted": format_value(workspace.deleted)} if workspace.deleted else {}),
        }
    )
    typer.echo()
    list_experiments(workspaces=[workspace.name], in_bin=workspace.deleted is not None)


@app.command()
def add(name: Name, *, description: Description = None, as_json: Json = False) -> None:
    """Make a workspace."""
    _report(Client().workspaces.add(name, description=description or ""), "made", as_json=as_json)


@app.command()
def change(
    name: Name,
    *,
    new_name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    description: Description = None,
    as_json: Json = False,
) -> None:
    """Rename a workspace, describe it."""
    if new_name is None and description is None:
        raise InvalidValue("nothing is to be changed", hint="give --name or --description")
    changed = Client().workspaces.change(name, new_name=new_name, description=description)
    _report(changed, "changed", as_json=as_json)


@app.command()
def rename(name: Name, new_name: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """Give a workspace another name."""
    change(name, new_name=new_name, as_json=as_json)


@app.command()
def delete(name: Name, *, yes: Yes = False, as_json: Json = False) -> None:
    """Put a workspace into the bin, with its experiments and runs."""
    client = Client()
    found = client.workspaces.get(name)
    content = f"{count(found.experiments, 'experiment')} and {count(found.runs, 'run')}"
    confirm(f"Move the workspace {found.name} with {content} to trash?", yes=yes)
    word = f"moved to trash; `aboard workspaces restore {found.name}` restores it"
    _report(client.workspaces.delete(found.name), word, as_json=as_json)


@app.command()
def restore(name: Name, *, as_json: Json = False) -> None:
    """Take a workspace out of the bin, and what went with it."""
    _report(Client().workspaces.restore(name), "restored", as_json=as_json)


def _report(one: Workspace, word: str, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        typer.echo(f"{one.name}: {word}")
