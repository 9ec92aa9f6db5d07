# SPDX-License-Identifier: Apache-2.0
"""Empty catalogs in a PostgreSQL: what a test gives back is emptied, which takes a small part of making another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from support.postgres import PostgresServer

if TYPE_CHECKING:
    import psycopg

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
_FORM = """
    SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM (
        SELECT concat_ws(' ', table_name, column_name, data_type, column_default, is_nullable) AS line
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    ) AS lines
"""
_END_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL"


@dataclass(frozen=True)
class Pattern:
    """A catalog that was just made, of which copies are made: nobody connects to it."""

    url: str
    form: tuple[Any, ...] | None
    rows: dict[str, list[tuple[Any, ...]]]
    """By table. A catalog that was just made says which form it has."""


def pattern_of(server: PostgresServer) -> Pattern:
    """Make a catalog; migrations take seconds, a copy takes a small part of one."""
    import psycopg

    from aboard.catalog.catalog import Catalog

    url = server.new_database()
    Catalog.open(url).close()
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(_TABLES)]
        return Pattern(url, connection.execute(_FORM).fetchone(), {name: _rows(connection, name) for name in tables})


class EmptyCatalogs:
    """Places with a catalog of its own each, in which nothing is."""

    def __init__(self, server: PostgresServer, pattern: Pattern) -> None:
        self._server, self._pattern = server, pattern
        self._free: list[str] = []

    def take(self) -> str:
        """The URL of one."""
        return self._free.pop() if self._free else self._server.copied_database(self._pattern.url)

    def give_back(self, url: str) -> None:
        """Nobody uses it any more."""
        import psycopg

        try:
            with psycopg.connect(url) as connection:
                connection.execute(_END_OTHERS)
                is_as_made = connection.execute(_FORM).fetchone() == self._pattern.form
                if is_as_made:
                    self._empty(connection)
        except psycopg.OperationalError:
            return  # its server is gone
        if is_as_made:
            self._free.append(url)
        else:
            self._server.drop_database(url)

    def _empty(self, connection: psycopg.Connection[Any]) -> None:
        changed = [name for name, rows in self._pattern.rows.items() if _rows(connection, name) != rows]
        if changed:
            connection.execute(cast("Any", f"TRUNCATE {', '.join(changed)} CASCADE"))
        for (name,) in connection.execute(_SEQUENCES).fetchall():
            connection.execute(cast("Any", f"ALTER SEQUENCE {name} RESTART"))
        for name, rows in self._pattern.rows.items():
            if rows and _rows(connection, name) != rows:
                places = ", ".join(["%s"] * len(rows[0]))
                connection.cursor().executemany(cast("Any", f"INSERT INTO {name} VALUES ({places})"), rows)


def _rows(connection: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    """Enough rows to see whether a test has changed the table; an unused one has few."""
    return connection.execute(cast("Any", f'SELECT * FROM "{table}" LIMIT 10')).fetchall()
