# SPDX-License-Identifier: Apache-2.0
"""Brings a database to the newest schema, and refuses one that this version of aboard does not know."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from aboard.errors import CatalogUnavailable

VERSION_TABLE = "aboard_schema"  # not Alembic's usual name: the database may hold other programs' tables too
_ONE_AT_A_TIME = 0x61626F617264  # the number of an advisory lock in PostgreSQL
_FOLDER = Path(__file__).parent
_alembic_is_global = threading.Lock()


def newest_version() -> str:
    """The schema that this version of aboard makes; Alembic, which takes long to load, is not asked."""
    return max(path.name[1:].partition("_")[0] for path in (_FOLDER / "versions").glob("v*.py"))


def bring_up_to_date(connection: Connection, shown_as: str) -> str:
    """Run the missing steps in the connection's transaction; returns the version that was found, or nothing."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _ONE_AT_A_TIME})
    found, newest = _found_version(connection, shown_as), newest_version()
    if found > newest:
        raise CatalogUnavailable(
            f"the catalog {shown_as} has schema {found}; this version of aboard knows up to {newest}",
            hint="it was made by a newer aboard: upgrade this one (pip install --upgrade 'aboard[server]')",
        )
    if found != newest:
        _upgrade(connection)
    return found


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # A percent sign in the path would be taken for a variable.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _alembic_is_global:
        command.upgrade(config, "head")


def _found_version(connection: Connection, shown_as: str) -> str:
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE in tables:
        return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() or ""  # noqa: S608
    if "runs" in tables or "workspaces" in tables:
        raise CatalogUnavailable(
            f"{shown_as} holds tables of another program", hint="name an empty database, or a file that does not exist"
        )
    return ""
