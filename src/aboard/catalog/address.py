# SPDX-License-Identifier: Apache-2.0
"""Where a catalog is: a file for SQLite, or the URL of a PostgreSQL database."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from aboard.errors import InvalidValue

_HINT = "give a file, as in ~/.aboard/catalog.sqlite, or postgresql://user@host/database"


@dataclass(frozen=True, slots=True)
class CatalogAddress:
    """A database. `str()` of it shows no password."""

    url: URL
    path: Path | None  # of SQLite

    @classmethod
    def of(cls, where: str | os.PathLike[str]) -> CatalogAddress:
        """The address that a path or URL means."""
        text = os.fspath(where)
        if "://" not in text:
            if not text or text == ":memory:":
                raise InvalidValue(f"{text!r} is not a place for a catalog", hint=_HINT)
            path = Path(text).expanduser().absolute()
            return cls(URL.create("sqlite", database=str(path)), path)
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise InvalidValue("the URL of the catalog cannot be read", hint=_HINT) from None
        if url.drivername == "sqlite" and url.database and url.database != ":memory:":
            return cls.of(Path(url.database))
        if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
            raise InvalidValue(f"a catalog cannot be in {url.drivername!r}", hint=_HINT)
        return cls(url.set(drivername="postgresql+psycopg"), None)

    def __str__(self) -> str:
        return str(self.path) if self.path else self.url.set(drivername="postgresql").render_as_string()
