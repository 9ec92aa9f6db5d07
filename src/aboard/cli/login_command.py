# SPDX-License-Identifier: Apache-2.0
"""`aboard login` and `aboard logout`."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def login(
    server: Annotated[
        str | None, typer.Argument(help="Address of the server; without it the configured one.", show_default=False)
    ] = None,
    *,
    token: Annotated[
        str | None, typer.Option(help="A token, or the code of a link; - reads it from standard input.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Log in by way of a browser where that is possible.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Log in at a server: commands and trainings of this account ask it from now on."""
    from aboard.cli.login import log_in

    log_in(server, token, browser=browser, as_json=as_json)


def logout(
    server: Annotated[
        str | None, typer.Argument(help="Address of the server; without it that of the last login.", show_default=False)
    ] = None,
) -> None:
    """Forget a login, and revoke its token."""
    from aboard.cli.login import log_out

    log_out(server)
