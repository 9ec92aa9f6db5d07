# SPDX-License-Identifier: Apache-2.0
"""`aboard user …` and `aboard token …`: the options of their commands."""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.parsing import Json, WrappingGroup
from aboard.model.people import Role

user_commands = typer.Typer(
    cls=WrappingGroup,
    help="Let people in, keep them out, give them roles.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
token_commands = typer.Typer(
    cls=WrappingGroup, help="Make, list and revoke tokens.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="USER")]


@user_commands.command()
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


@user_commands.command("list")
def list_users(*, as_json: Json = False) -> None:
    """List people and their roles."""
    from aboard.cli.people.accounts import list_people

    list_people(as_json=as_json)


@user_commands.command()
def me(*, as_json: Json = False) -> None:
    """Print who you are to the server."""
    from aboard.cli.people.accounts import show_me

    show_me(as_json=as_json)


@user_commands.command()
def disable(name: Name, *, as_json: Json = False) -> None:
    """Keep somebody out: their tokens and sessions open nothing any more."""
    from aboard.cli.people.accounts import change_person

    change_person(name, disabled=True, administrator=None, as_json=as_json)


@user_commands.command()
def enable(name: Name, *, as_json: Json = False) -> None:
    """Let somebody in again."""
    from aboard.cli.people.accounts import change_person

    change_person(name, disabled=False, administrator=None, as_json=as_json)


@user_commands.command()
def admin(
    name: Name,
    *,
    take: Annotated[bool, typer.Option("--take", help="They are none any more.")] = False,
    as_json: Json = False,
) -> None:
    """Make somebody an administrator of the server, or take that away."""
    from aboard.cli.people.accounts import change_person

    change_person(name, disabled=None, administrator=not take, as_json=as_json)


@user_commands.command()
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


@user_commands.command()
def roles(workspace: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """List who has which role in a workspace."""
    from aboard.cli.people.accounts import list_roles

    list_roles(workspace, as_json=as_json)


@token_commands.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for, as `cluster` or `laptop`.")],
    *,
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, write (what trainings need) or admin; without it all that you may do."),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="After how long it opens nothing: 30d, 12h.")] = None,
    user: Annotated[str | None, typer.Option(help="Whose it is; for administrators.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the token alone.")] = False,
    as_json: Json = False,
) -> None:
    """Make a token and print it, this once."""
    from aboard.cli.people.accounts import create_token

    create_token(name, scopes or [], expires, user or "", quiet=quiet, as_json=as_json)


@token_commands.command("list")
def list_(
    *,
    user: Annotated[str | None, typer.Option(help="Whose; for administrators.")] = None,
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Of everybody; for administrators.")] = False,
    as_json: Json = False,
) -> None:
    """List tokens: what they are for, not what they are."""
    from aboard.cli.people.accounts import list_tokens

    list_tokens(user or "", everybody=everybody, as_json=as_json)


@token_commands.command()
def revoke(
    tokens: Annotated[list[str], typer.Argument(help="Ids as `aboard token list` prints them, or names of yours.")],
    *,
    as_json: Json = False,
) -> None:
    """Let tokens open nothing any more."""
    from aboard.cli.people.accounts import revoke_tokens

    revoke_tokens(tokens, as_json=as_json)
