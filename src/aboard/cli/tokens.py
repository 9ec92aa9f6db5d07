# SPDX-License-Identifier: Apache-2.0
"""Tokens made, listed and revoked."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from aboard.api.page import Page
from aboard.cli.durations import seconds_of
from aboard.cli.shown_values import shown
from aboard.cli.table_text import print_json, print_table
from aboard.client.client import Client
from aboard.model.times import now
from aboard.model.token import Token


def create_token(
    name: str, scopes: Sequence[str], expires: str | None, user: str, *, quiet: bool, as_json: bool
) -> None:
    """Make a token and print it."""
    seconds = None if expires is None else seconds_of(expires, "--expires")
    made = Client().tokens.create(name, scopes=scopes, expires_seconds=seconds, person=user)
    if as_json:
        print_json(made)
        return
    typer.echo(made.text)
    if not quiet:
        until = f", until {shown(made.token.expires)}" if made.token.expires else ""
        typer.echo(f"This is the token {made.token.name} of {made.token.user}{until}. It is not shown again.", err=True)


def list_tokens(user: str, *, everybody: bool, as_json: bool) -> None:
    """Print tokens, the oldest first."""
    page = Client().tokens.list(person=user, everybody=everybody)
    if as_json:
        print_json(page)
        return
    titles = ["id", "name", "user", "scopes", "created", "created by", "expires", "last used", "state"]
    print_table(titles, [_row(token) for token in page.items])


def revoke_tokens(tokens: Sequence[str], *, as_json: bool) -> None:
    """Let tokens open nothing any more."""
    client = Client()
    revoked = [client.tokens.revoke(token) for token in tokens]
    if as_json:
        print_json(Page(tuple(revoked)))
        return
    for token in revoked:
        typer.echo(f"The token {token.name} ({token.id}) of {token.user} is revoked.")


def _row(token: Token) -> list[str]:
    state = "VALID" if token.is_valid(now()) else ("REVOKED" if token.revoked else "EXPIRED")
    scopes = ", ".join(token.scopes) or "all"
    facts = [shown(token.created), shown(token.parent), shown(token.expires), shown(token.last_used)]
    return [token.id, token.name, token.user, scopes, *facts, state]
