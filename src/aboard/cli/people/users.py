# SPDX-License-Identifier: Apache-2.0
"""`aboard user …`: people and their roles."""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.parsing import WrappingGroup
from aboard.model.people import Role

app = typer.Typer(
    cls=WrappingGroup,
    help="Let people in, keep them out, give them roles.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Name = Annotated[str, typer.Argument(metavar="USER")]


@app.command()
def add(
    name: Name,
    *,
    display_name: Annotated[str, typer.Option(help="As people know them.")] = "",
    administrator: Annotated[bool, typer.Option("--admin", help="Of the server: every role everywhere.")] = False,
    roles: Annotated[
        list[str] | None, typer.Option("--role", help="WORKSPACE:ROLE, as vision:editor; repeatable.")
    ] = None,
    token: Annotated[bool, typer.Option("--token/--no-token", help="Make a token for them and print it.")] = True,
    as_json: Json = False,
) -> None:
    """Let somebody in, and print the token to give to them."""
    from aboard.cli.people.accounts import add_person

    add_person(name, display_name, roles or [], administrator=administrator, with_token=token, as_json=as_json)


@app.command("list")
def list_(*, as_json: Json = False) -> None:
    """List people and their roles."""
    from aboard.cli.people.accounts import list_people

    list_people(as_json=as_json)


@app.command()
def me(*, as_json: Json = False) -> None:
    """Print who you are to the server."""
    from aboard.cli.people.accounts import show_me

    show_me(as_json=as_json)


@app.command()
def disable(name: Name, *, as_json: Json = False) -> None:
    """Keep somebody out: their tokens and sessions open nothing any more."""
    from aboard.cli.people.accounts import change_person

    change_person(name, disabled=True, administrator=None, as_json=as_json)


@app.command()
def enable(name: Name, *, as_json: Json = False) -> None:
    """Let somebody in again."""
    from aboard.cli.people.accounts import change_person

    change_person(name, disabled=False, administrator=None, as_json=as_json)


@app.command()
def admin(
    name: Name,
    *,
    take: Annotated[bool, typer.Option("--take", help="They are none any more.")] = False,
    as_json: Json = False,
) -> None:
    """Make somebody an administrator of the server, or take that away."""
    from aboard.cli.people.accounts import change_person

    change_person(name, disabled=None, administrator=not take, as_json=as_json)


@app.command()
def role(
    name: Name,
    workspace: Annotated[str, typer.Argument()],
    role: Annotated[Role | None, typer.Argument(help="viewer, editor or admin.")] = None,
    *,
    none: Annotated[bool, typer.Option("--none", help="Take their role away.")] = False,
    as_json: Json = False,
) -> None:
    """Give somebody a role in a workspace, or take it away."""
    from aboard.cli.people.accounts import set_role

    set_role(name, workspace, role, none=none, as_json=as_json)


@app.command()
def roles(workspace: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """List who has which role in a workspace."""
    from aboard.cli.people.accounts import list_roles

    list_roles(workspace, as_json=as_json)
