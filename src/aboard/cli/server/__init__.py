# SPDX-License-Identifier: Apache-2.0
"""`aboard server …`: the options of its commands."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from aboard.cli.parsing import Json, WrappingGroup

app = typer.Typer(
    cls=WrappingGroup,
    rich_markup_mode=None,
)

Catalog = Annotated[
    str | None,
    typer.Option(
        help="File for SQLite, or postgresql://user@host/database.", show_default="$ABOARD_HOME/catalog.sqlite"
    ),
]


@app.callback(invoke_without_command=True)
def server(
    context: typer.Context,
    *,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. All but loopback needs a login.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; without it 6006 or the next free one, 0 for any.")
    ] = None,
    stores: Annotated[
        list[str] | None,
        typer.Option("--store", help="Folder or URI whose runs are shown; repeatable.", show_default="$ABOARD_STORE"),
    ] = None,
    catalog: Catalog = None,
    login: Annotated[
        str | None,
        typer.Option(help="How people log in: personal, tokens, header or oidc.", show_default="personal"),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Serve nothing; say whether settings, catalog, stores and login are good.")
    ] = False,
    log_format: Annotated[
        LogFormat | None,
        typer.Option("--log-format", help="Lines for people, or JSON lines with ids of requests.", show_default="text"),
    ] = None,
    private: Annotated[bool, typer.Option("--private", hidden=True)] = False,
    idle_timeout: Annotated[float, typer.Option("--idle-timeout", min=1, hidden=True)] = 1800.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line with address and token.")] = False,
) -> None:
    """Serve the catalog of runs over HTTP to commands, scripts and colleagues."""
    from aboard.cli.server.options import ServerOptions, choose_token, require_packages

    if context.invoked_subcommand is not None:
        return
    options = ServerOptions(
        host=host,
        port=port,
        stores=stores or [],
        catalog=catalog,
        login=login,
        private=private,
        idle_timeout=idle_timeout,
        as_json=as_json,
        log_format=None if log_format is None else str(log_format),
    )
    if check:
        from aboard.cli.server.maintenance import check_server

        sys.exit(check_server(options))
    from aboard.server.http.listening import is_loopback

    settings = options.settings()
    token = choose_token(settings, is_loopback=is_loopback(settings.serve.host), is_private=options.private)
    with require_packages():
        from aboard.cli.server.serving import serve_catalog

    serve_catalog(options, settings, token)


@app.command("init-admin")
def init_admin(
    name: Annotated[
        str | None,
        typer.Argument(help="Who; default: the account that runs this. Behind a proxy: the name that it sends."),
    ] = None,
    *,
    catalog: Catalog = None,
    as_json: Json = False,
) -> None:
    """Make somebody an administrator, and print a link that lets them in once: also when all are locked out."""
    from aboard.cli.server.maintenance import make_administrator

    make_administrator(name, catalog, as_json=as_json)


@app.command()
def backup(
    file: Annotated[str, typer.Argument(help="The file to write; it is a catalog of its own.")],
    *,
    catalog: Catalog = None,
) -> None:
    """Copy the catalog, also while a server uses it."""
    from aboard.cli.server.maintenance import back_up

    back_up(file, catalog)


@app.command()
def restore(
    file: Annotated[str, typer.Argument(help="What `aboard server backup` has written.")],
    *,
    catalog: Catalog = None,
    replace: Annotated[bool, typer.Option("--replace", help="Also when the catalog is not empty.")] = False,
) -> None:
    """Put a backup into a catalog, which may be in another kind of database; the server must not run."""
    from aboard.cli.server.maintenance import restore as put_back

    put_back(file, catalog, replace=replace)


@app.command()
def audit(
    *,
    actor: Annotated[str | None, typer.Option(help="Only changes by this person.")] = None,
    target: Annotated[str | None, typer.Option(help="Only changes of this, as run343 or 'workspace vision'.")] = None,
    last: Annotated[int, typer.Option(min=1, help="How many.")] = 50,
    as_json: Json = False,
) -> None:
    """Print who changed what, the newest first; for administrators, from the configured server."""
    from aboard.cli.people.accounts import list_changes

    list_changes(actor, target, last, as_json=as_json)


class LogFormat(StrEnum):
    """How lines are written."""

    TEXT = "text"
    JSON = "json"
