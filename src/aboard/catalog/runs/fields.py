# SPDX-License-Identifier: Apache-2.0
"""Names of hyperparameters, metrics and tags that runs have, and their most frequent values, for completion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from aboard.catalog.database import Database
from aboard.catalog.lookup import VisibleWorkspaces, in_visible_workspaces, stored_key, workspace_ids
from aboard.catalog.runs.filters import RunScope
from aboard.catalog.schema import fields, hparams, runs, tags, workspaces
from aboard.errors import InvalidValue
from aboard.model.query.fields import CountedValue, unknown_name
from aboard.model.query.tree import ColumnField, Field, HparamField, MetricField, Query, TagField, conditions

NEWEST = 10_000
"""So many runs are looked at, the newest, for what no table keeps apart from them: names of tags, and values."""


class Fields:
    """The names in a catalog."""

    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def hparams(self, workspaces: Sequence[str] | None = None) -> list[str]:
        """The names of all hyperparameters, sorted."""
        with self._database.reading() as connection:
            return self._names(connection, "hparam", workspaces)

    def metrics(self, workspaces: Sequence[str] | None = None) -> list[str]:
        """The names of all metrics, sorted."""
        with self._database.reading() as connection:
            return self._names(connection, "metric", workspaces)

    def tags(self, workspaces: Sequence[str] | None = None) -> list[str]:
        """The names of all tags of the newest runs, sorted."""
        with self._database.reading() as connection:
            newest = RunScope.of(connection, workspaces, [], seen=self._seen).newest(NEWEST)
            query = select(tags.c.name).distinct().join_from(tags, newest, newest.c.id == tags.c.run_id)
            return list(connection.scalars(query.order_by(tags.c.name)))

    def check(self, query: Query, text: str, workspaces: Sequence[str] | None = None) -> None:
        """Refuse a filter that names a hyperparameter or metric which no run has, telling the nearest that one has.

        For a person who asks now. A filter that waits for runs to come is not held to it. `text` is what was parsed.
        """
        asked = [condition.field for condition in conditions(query)]
        with self._database.reading() as connection:
            for kind, kinds in (("hparam", HparamField), ("metric", MetricField)):
                used = [field for field in asked if isinstance(field, kinds)]
                known = self._names(connection, kind, workspaces) if used else []
                for field in used:
                    if isinstance(field, (HparamField, MetricField)) and stored_key(field.name) not in known:
                        raise unknown_name(field, known, text)

    def _names(self, connection: Connection, kind: str, workspaces: Sequence[str] | None) -> list[str]:
        query = select(fields.c.name).where(fields.c.kind == kind).distinct().order_by(fields.c.name)
        if workspaces is not None:
            query = query.where(fields.c.workspace_id.in_(workspace_ids(connection, workspaces, self._seen)))
        return list(connection.scalars(query.where(*in_visible_workspaces(fields.c.workspace_id, self._seen))))


_COLUMNS = ("name", "workspace", "experiment", "user", "host", "store")
_LONGEST = 100  # characters: nobody chooses a longer text from a list, and a filter takes no longer number
_EXACT = 2**53


class FieldValueCounts:
    """The values of a field and how many runs have them, of the newest runs that are not in the trash."""

    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def of(
        self, field: Field, *, workspaces: Sequence[str] | None = None, prefix: str = "", limit: int = 20
    ) -> list[CountedValue]:
        """Values that begin with `prefix`, in which capitals make no difference. NaN and long texts are left out."""
        with self._database.reading() as connection:
            scope = RunScope.of(connection, workspaces, [field], seen=self._seen)
            found = list(_counted(connection, field, scope))
        wanted = prefix.lower()
        fitting = [one for one in found if str(one.value).lower().startswith(wanted)]
        return sorted(fitting, key=lambda one: (-one.runs, isinstance(one.value, str), one.value))[:limit]


def _counted(connection: Connection, field: Field, scope: RunScope) -> Iterable[CountedValue]:
    match field:
        case HparamField():
            for number, text, flag, count in connection.execute(_of_hparam(field, scope)):
                yield CountedValue(_value(number, text, flag), count)
        case TagField(name):
            newest = scope.newest(NEWEST)
            values = select(tags.c.value, func.count()).join_from(tags, newest, newest.c.id == tags.c.run_id)
            yield from _texts(connection, values.where(tags.c.name == stored_key(name)), tags.c.value)
        case ColumnField(name="workspace"):
            newest = scope.newest(NEWEST, runs.c.workspace_id)
            values = select(workspaces.c.name, func.count()).join_from(
                newest, workspaces, newest.c.workspace_id == workspaces.c.id
            )
            yield from _texts(connection, values, workspaces.c.name)
        case ColumnField(name) if name in _COLUMNS:
            column = scope.newest(NEWEST, runs.c[name]).c[name]
            yield from _texts(connection, select(column, func.count()), column)
        case _:
            hint = f"they are of {', '.join(_COLUMNS)}, hparams.NAME and tags.NAME"
            raise InvalidValue(f"values of {field} are not listed", hint=hint)


def _of_hparam(field: HparamField, scope: RunScope) -> Select[Any, Any, Any, int]:
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
