# SPDX-License-Identifier: Apache-2.0
"""What is done to a catalog on the machine of its server: administrators, backups."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aboard.cli.server import needed_packages
from aboard.cli.shown_values import bytes_text
from aboard.config.machine_folder import machine_folder
from aboard.config.settings import Settings, load_settings
from aboard.errors import InvalidValue

if TYPE_CHECKING:
    from aboard.catalog.catalog import Catalog


def make_administrator(name: str | None, place: str | None, *, as_json: bool) -> None:
    """Make somebody an administrator and print a code that lets them in."""
    with _opened(place, beside_server=True) as (catalog, settings):
        from aboard.server.registration import owner
        from aboard.services.people.accounts import code_for, ensure_administrator

        is_header = settings.login.mode == "header"
        if is_header and not name:
            raise InvalidValue("Name the administrator.", hint="Write the name that the proxy sends for them.")
        person = ensure_administrator(catalog, name or owner(), is_chosen=bool(name))
        code = code_for(catalog, person)
    url = settings.serve.url
    if as_json:
        link = f"{url}/?token={code}" if url and not is_header else None
        typer.echo(json.dumps({"user": person, "code": code, "link": link}))
        return
    command = f"aboard login {url or 'ADDRESS-OF-THE-SERVER'} --token {code}"
    if is_header:
        typer.echo(f"{person} administers the server, after a login at the proxy. For commands, within an hour:")
        typer.echo(f"  {command}")
        return
    typer.echo(f"{person} administers the server. Once, within an hour, they get in by")
    typer.echo(f"  {url or 'ADDRESS-OF-THE-SERVER'}/?token={code}")
    typer.echo(f"or with  {command}")


def back_up(file: str, place: str | None) -> None:
    """Write a backup."""
    with _opened(place, beside_server=True) as (catalog, _):
        from aboard.catalog.copying import back_up as write

        size = write(catalog, Path(file).expanduser())
        typer.echo(f"{catalog} is backed up in {file}, {bytes_text(size)}.")


def restore(file: str, place: str | None, *, replace: bool) -> None:
    """Put a backup into a catalog that no server uses."""
    with _opened(place, beside_server=False) as (catalog, _):
        from aboard.catalog.copying import restore as put_back

        count = put_back(catalog, Path(file).expanduser(), replace=replace)
        typer.echo(f"{catalog} is what {file} has: {count} run{'s' * (count != 1)}. Browsers have to log in again.")


@contextlib.contextmanager
def _opened(place: str | None, *, beside_server: bool) -> Generator[tuple[Catalog, Settings]]:
    with needed_packages():
        from aboard.catalog.catalog import Catalog

    logging.getLogger("alembic").setLevel(logging.WARNING)
    settings = load_settings({"serve.catalog": place})
    where = settings.serve.catalog or machine_folder(settings.home) / "catalog.sqlite"
    with Catalog.open(where, beside_server=beside_server) as catalog:
        yield catalog, settings
