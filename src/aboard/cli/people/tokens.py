# SPDX-License-Identifier: Apache-2.0
"""`aboard token …`: what programs show to a server."""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.parsing import WrappingGroup

app = typer.Typer(cls=WrappingGroup, help="Make, list and revoke tokens.", no_args_is_help=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
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


@app.command("list")
def list_(
    *,
    user: Annotated[str | None, typer.Option(help="Whose; for administrators.")] = None,
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Of everybody; for administrators.")] = False,
    as_json: Json = False,
) -> None:
    """List tokens: what they are for, not what they are."""
    from aboard.cli.people.accounts import list_tokens

    list_tokens(user or "", everybody=everybody, as_json=as_json)


@app.command()
def revoke(
    tokens: Annotated[list[str], typer.Argument(help="Ids as `aboard token list` prints them, or names of yours.")],
    *,
    as_json: Json = False,
) -> None:
    """Let tokens open nothing any more."""
    from aboard.cli.people.accounts import revoke_tokens

    revoke_tokens(tokens, as_json=as_json)
