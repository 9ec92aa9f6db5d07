# SPDX-License-Identifier: Apache-2.0
"""Brings a database to the newest schema, and refuses one that this version of aboard does not know."""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from aboard.errors import CatalogUnavailable

VERSION_TABLE = "aboard_schema"  # not Alembic's usual name: the database may hold other programs' tables too
_ONE_AT_A_TIME = 0x61626F617264  # the number of an advisory lock in PostgreSQL
_alembic_is_global = threading.Lock()


def newest_version() -> str:
    """The schema that this version of aboard makes."""
    version = ScriptDirectory.from_config(_config()).get_current_head()
    assert version is not None
    return version


def bring_up_to_date(connection: Connection, shown_as: str) -> str:
    """Run the missing steps in the connection's transaction; returns the version that was found, or nothing."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _ONE_AT_A_TIME})
    with _alembic_is_global:
        config = _config()
        found = _found_version(connection, shown_as)
        known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
        if found and found not in known:
            raise CatalogUnavailable(
                f"the catalog {shown_as} has schema {found}; this version of aboard knows up to {known[0]}",
                hint="it was made by a newer aboard: upgrade this one (pip install --upgrade 'aboard[server]')",
            )
        if found != known[0]:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        return found


def _config() -> Config:
    config = Config()
    # A percent sign in the path would be taken for a variable.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def _found_version(connection: Connection, shown_as: str) -> str:
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE in tables:
        return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() or ""  # noqa: S608
    if "runs" in tables or "workspaces" in tables:
        raise CatalogUnavailable(
            f"{shown_as} holds tables of another program", hint="name an empty database, or a file that does not exist"
        )
    return ""
