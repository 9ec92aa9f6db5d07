# SPDX-License-Identifier: Apache-2.0
"""Values that runs have in a field, the most frequent first: for completion of filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from aboard.catalog.database import Database
from aboard.catalog.fields import NEWEST
from aboard.catalog.keys import stored_key
from aboard.catalog.schema import hparams, runs, tags, workspaces
from aboard.catalog.scope import Scope
from aboard.catalog.seen import Seen
from aboard.errors import InvalidValue
from aboard.model.query.syntax import Column, Field, Hparam, Tag

_COLUMNS = ("name", "workspace", "experiment", "user", "host", "store")
_LONGEST = 100  # characters: nobody chooses a longer text from a list, and a filter takes no longer number
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class CountedValue:
    """A value, and how many of the newest runs have it."""

    value: bool | int | float | str
    runs: int


class FieldValues:
    """The values in a catalog. Of many runs the newest are looked at, and none that is in the bin."""

    def __init__(self, database: Database, seen: Seen = None) -> None:
        self._database, self._seen = database, seen

    def of(
        self, field: Field, *, workspaces: Sequence[str] | None = None, prefix: str = "", limit: int = 20
    ) -> list[CountedValue]:
        """Values that begin with `prefix`, in which capitals make no difference. NaN and long texts are left out."""
        with self._database.reading() as connection:
            scope = Scope.of(connection, workspaces, [field], seen=self._seen)
            found = list(_counted(connection, field, scope))
        wanted = prefix.lower()
        fitting = [one for one in found if str(one.value).lower().startswith(wanted)]
        return sorted(fitting, key=lambda one: (-one.runs, isinstance(one.value, str), one.value))[:limit]


def _counted(connection: Connection, field: Field, scope: Scope) -> Iterable[CountedValue]:
    match field:
        case Hparam():
            for number, text, flag, count in connection.execute(_of_hparam(field, scope)):
                yield CountedValue(_value(number, text, flag), count)
        case Tag(name):
            newest = scope.newest(NEWEST)
            values = select(tags.c.value, func.count()).join_from(tags, newest, newest.c.id == tags.c.run_id)
            yield from _texts(connection, values.where(tags.c.name == stored_key(name)), tags.c.value)
        case Column(name="workspace"):
            newest = scope.newest(NEWEST, runs.c.workspace_id)
            values = select(workspaces.c.name, func.count()).join_from(
                newest, workspaces, newest.c.workspace_id == workspaces.c.id
            )
            yield from _texts(connection, values, workspaces.c.name)
        case Column(name) if name in _COLUMNS:
            column = scope.newest(NEWEST, runs.c[name]).c[name]
            yield from _texts(connection, select(column, func.count()), column)
        case _:
            hint = f"they are of {', '.join(_COLUMNS)}, hparams.NAME and tags.NAME"
            raise InvalidValue(f"values of {field} are not listed", hint=hint)


def _of_hparam(field: Hparam, scope: Scope) -> Select[Any, Any, Any, int]:
    # Kinds are not told apart: to a filter 1 and 1.0 are one number.
    columns = hparams.c.number, hparams.c.text, hparams.c.flag
    newest = scope.newest(NEWEST)
    query = select(*columns, func.count()).join_from(hparams, newest, newest.c.id == hparams.c.run_id)
    is_value = or_(*(column.is_not(None) for column in columns))
    is_short = or_(hparams.c.text.is_(None), func.length(hparams.c.text) <= _LONGEST)
    return query.where(scope.has_field(hparams.c.field_id, field), is_value, is_short).group_by(*columns)


def _value(number: float | None, text: str | None, flag: int | None) -> bool | int | float | str:
    if flag is not None:
        return bool(flag)
    if number is None:
        return text or ""
    if text is not None:  # of an integer that a double cannot hold
        return int(text)
    return int(number) if abs(number) <= _EXACT and number == int(number) else number


def _texts(connection: Connection, query: Select[Any, int], column: ColumnElement[str]) -> Iterable[CountedValue]:
    short = query.where(column.is_not(None), func.length(column) <= _LONGEST)
    for text, count in connection.execute(short.group_by(column)):
        yield CountedValue(text, count)
