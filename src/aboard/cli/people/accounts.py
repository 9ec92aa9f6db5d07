# SPDX-License-Identifier: Apache-2.0
"""`aboard user …` and `aboard token …`: people, their roles and tokens, and the audit log."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from aboard.api.people import AuditChange, Members, Person
from aboard.api.wire import Page
from aboard.cli.arguments import parse_seconds
from aboard.cli.output import MAX_WIDTH, format_value, print_json, print_pairs, print_table
from aboard.cli.parsing import Json, WrappingGroup
from aboard.client.client import Client
from aboard.errors import InvalidValue
from aboard.model.people import Role, Token
from aboard.model.times import now

user_commands = typer.Typer(
    cls=WrappingGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
)
token_commands = typer.Typer(cls=WrappingGroup, no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="USER")]
_PAGE = 1000


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
    client = Client()
    given = dict(map(_workspace_role, roles or []))
    person = client.people.add(name, display_name=display_name, administrator=administrator, roles=given)
    made = client.tokens.create("first", person=person.name) if token else None
    if as_json:
        print_json({"person": person, "token": made.text if made else None})
        return
    if made is not None:
        typer.echo(made.text)
    typer.echo(f"{person.name} may log in ({_rights(person)}).", err=True)
    if made is not None:
        typer.echo(f"They write: aboard login {client.url} --token TOKEN. It is not shown again.", err=True)
    if client.info().private:
        typer.echo(
            "This account runs no `aboard server`, so its private one was asked, which only this machine reaches. "
            "Start one for others with `aboard server --login tokens`.",
            err=True,
        )


@user_commands.command("list")
def list_users(*, as_json: Json = False) -> None:
    """List people and their roles."""
    page = Client().people.list()
    if as_json:
        print_json(page)
        return
    rows = [
        [
            one.name,
            format_value(one.display_name),
            _rights(one),
            format_value(one.created),
            "DISABLED" if one.disabled else "ACTIVE",
        ]
        for one in page.items
    ]
    print_table(["user", "name", "roles", "created", "state"], rows, max_width=2 * MAX_WIDTH)


@user_commands.command()
def me(*, as_json: Json = False) -> None:
    """Print who you are to the server."""
    client = Client()
    person = client.people.me()
    if as_json:
        print_json(person)
        return
    most = "" if person.most is Role.ADMIN else f", with a token that is good for {person.most} at most"
    print_pairs({"user": person.name, "server": client.url, "roles": f"{_rights(person)}{most}"})


@user_commands.command()
def disable(name: Name, *, as_json: Json = False) -> None:
    """Keep somebody out: their tokens and sessions open nothing any more."""
    _change(name, disabled=True, administrator=None, as_json=as_json)


@user_commands.command()
def enable(name: Name, *, as_json: Json = False) -> None:
    """Let somebody in again."""
    _change(name, disabled=False, administrator=None, as_json=as_json)


@user_commands.command()
def admin(
    name: Name,
    *,
    take: Annotated[bool, typer.Option("--take", help="They are none any more.")] = False,
    as_json: Json = False,
) -> None:
    """Make somebody an administrator of the server, or take that away."""
    _change(name, disabled=None, administrator=not take, as_json=as_json)


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
    if (role is None) is not none:
        raise InvalidValue("either a role or --none is to be given", hint=f"roles are {', '.join(Role)}")
    _print_members(Client().people.set_role(name, workspace, role), as_json=as_json)


@user_commands.command()
def roles(workspace: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """List who has which role in a workspace."""
    _print_members(Client().people.members(workspace), as_json=as_json)


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
    seconds = None if expires is None else parse_seconds(expires, "--expires")
    made = Client().tokens.create(name, scopes=scopes or [], expires_seconds=seconds, person=user or "")
    if as_json:
        print_json(made)
        return
    typer.echo(made.text)
    if not quiet:
        until = f", until {format_value(made.token.expires)}" if made.token.expires else ""
        typer.echo(f"This is the token {made.token.name} of {made.token.user}{until}. It is not shown again.", err=True)


@token_commands.command("list")
def list_(
    *,
    user: Annotated[str | None, typer.Option(help="Whose; for administrators.")] = None,
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Of everybody; for administrators.")] = False,
    as_json: Json = False,
) -> None:
    """List tokens: what they are for, not what they are."""
    page = Client().tokens.list(person=user or "", everybody=everybody)
    if as_json:
        print_json(page)
        return
    titles = ["id", "name", "user", "scopes", "created", "created by", "expires", "last used", "state"]
    print_table(titles, [_row(token) for token in page.items])


@token_commands.command()
def revoke(
    tokens: Annotated[list[str], typer.Argument(help="Ids as `aboard token list` prints them, or names of yours.")],
    *,
    as_json: Json = False,
) -> None:
    """Let tokens open nothing any more."""
    client = Client()
    revoked = [client.tokens.revoke(token) for token in tokens]
    if as_json:
        print_json(Page(tuple(revoked)))
        return
    for token in revoked:
        typer.echo(f"The token {token.name} ({token.id}) of {token.user} is revoked.")


def _change(name: str, *, disabled: bool | None, administrator: bool | None, as_json: bool) -> None:
    """Keep somebody out or let them in; make them an administrator or take that away."""
    person = Client().people.change(name, disabled=disabled, administrator=administrator)
    if as_json:
        print_json(person)
        return
    typer.echo(f"{person.name} {'is kept out' if person.disabled else 'may log in'} ({_rights(person)}).")


def list_changes(actor: str | None, target: str | None, last: int, *, as_json: bool) -> None:
    """Print the record of changes, the newest first."""
    client, found, after = Client(), list[AuditChange](), None
    while len(found) < last:
        page = client.people.changes(actor=actor, target=target, limit=min(_PAGE, last - len(found)), after=after)
        found += page.items
        after = page.next
        if after is None:
            break
    if as_json:
        print_json(Page(tuple(found), after))
        return
    rows = [
        [
            format_value(one.at),
            format_value(one.actor),
            one.action,
            one.target,
            json.dumps(one.details) if one.details else "",
        ]
        for one in found
    ]
    print_table(["at", "who", "action", "what", "details"], rows, max_width=2 * MAX_WIDTH)


def _print_members(members: Members, *, as_json: bool) -> None:
    if as_json:
        print_json(members)
        return
    print_table(["user", f"role in {members.workspace}"], [[name, str(role)] for name, role in members.members.items()])


def _workspace_role(text: str) -> tuple[str, Role]:
    workspace, _, role = text.rpartition(":")
    if not workspace or role not in list(Role):
        raise InvalidValue(f"--role {text!r} is not a role", hint=f"write WORKSPACE:ROLE; roles are {', '.join(Role)}")
    return workspace, Role(role)


def _rights(person: Person) -> str:
    if person.administrator:
        return "administrator"
    return ", ".join(f"{role} in {name}" for name, role in person.roles.items()) or "no role"


def _row(token: Token) -> list[str]:
    state = "VALID" if token.is_valid(now()) else ("REVOKED" if token.revoked else "EXPIRED")
    scopes = ", ".join(token.scopes) or "all"
    facts = [
        format_value(token.created),
        format_value(token.parent),
        format_value(token.expires),
        format_value(token.last_used),
    ]
    return [token.id, token.name, token.user, scopes, *facts, state]
