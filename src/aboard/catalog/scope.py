# SPDX-License-Identifier: Apache-2.0
"""Which runs a question is about: those of some workspaces, and either those in use or those in the bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Subquery, select

from aboard.catalog.keys import stored_key
from aboard.catalog.schema import fields, runs
from aboard.catalog.seen import Seen, seen_ids
from aboard.catalog.workspace_names import workspace_ids
from aboard.model.query.syntax import Field, Hparam, Metric


@dataclass(frozen=True, slots=True)
class Scope:
    """Workspaces, or all of them; and the numbers that their hyperparameters and metrics have."""

    workspaces: tuple[int, ...] | None
    in_bin: bool = False
    field_ids: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict[tuple[str, str], tuple[int, ...]])

    @classmethod
    def of(
        cls,
        connection: Connection,
        names: Iterable[str] | None,
        asked: Iterable[Field],
        *,
        in_bin: bool = False,
        seen: Seen = None,
    ) -> Scope:
        """The scope of these workspaces, or of all that are seen, ready for questions about these fields."""
        if names is not None:
            ids = tuple(workspace_ids(connection, names, seen))
        else:
            ids = None if seen is None else seen_ids(connection, seen)
        return cls(ids, in_bin, _field_ids(connection, ids, asked))

    def holds(self) -> list[ColumnElement[bool]]:
        """What must hold for a row of `runs`."""
        state: ColumnElement[bool] = runs.c.deleted.is_not(None) if self.in_bin else runs.c.deleted.is_(None)
        return [state] if self.workspaces is None else [_one_of(runs.c.workspace_id, self.workspaces), state]

    def newest(self, count: int, *columns: ColumnElement[Any]) -> Subquery:
        """The numbers of the newest runs, with these columns of theirs: what is asked of them stays quick."""
        query = select(runs.c.id, *columns).where(*self.holds())
        return query.order_by(runs.c.id.desc()).limit(count).subquery()

    def has_field(self, column: ColumnElement[int], asked: Hparam | Metric) -> ColumnElement[bool]:
        """Whether a row of `hparams` or `metrics` is about this field."""
        return _one_of(column, self.field_ids.get(_key(asked), ()))


def _one_of(column: ColumnElement[int], values: tuple[int, ...]) -> ColumnElement[bool]:
    # A single value keeps the order of an index that begins with this column.
    return column == values[0] if len(values) == 1 else column.in_(values)


def _key(asked: Hparam | Metric) -> tuple[str, str]:
    return ("hparam" if isinstance(asked, Hparam) else "metric", stored_key(asked.name))


def _field_ids(
    connection: Connection, workspaces: tuple[int, ...] | None, asked: Iterable[Field]
) -> dict[tuple[str, str], tuple[int, ...]]:
    wanted = {_key(one) for one in asked if isinstance(one, (Hparam, Metric))}
    if not wanted:
        return {}
    query = select(fields.c.kind, fields.c.name, fields.c.id).where(
        fields.c.kind.in_(sorted({kind for kind, _ in wanted})), fields.c.name.in_(sorted({name for _, name in wanted}))
    )
    if workspaces is not None:
        query = query.where(fields.c.workspace_id.in_(workspaces))
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for kind, name, number in connection.execute(query.order_by(fields.c.id)):
        found[kind, name] = (*found.get((kind, name), ()), number)
    return found
