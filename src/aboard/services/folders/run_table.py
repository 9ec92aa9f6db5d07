# SPDX-License-Identifier: Apache-2.0
"""Queries over runs in memory, with the meaning that the catalog gives them in SQL.

An order consists of phases, as in `aboard.catalog.runs.listing`: numbers, then texts, then flags, then runs without a
value. The last order is kept, because the page asks for it piece by piece.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeGuard

from aboard.catalog.paging import Cursor, ResultPage, check_limit
from aboard.errors import InvalidValue, UnknownName
from aboard.model.names import folded, run_name
from aboard.model.query.evaluate import QueriedRun, as_double, compile_query, values_of
from aboard.model.query.fields import NEWEST_FIRST, Sort, unknown_name
from aboard.model.query.tree import ColumnField, Field, HparamField, MetricField, Query, conditions
from aboard.model.runs import RunRecord
from aboard.model.times import now as present

_LONGEST_VALUE = 100
_SORTED_TEXT = 64  # characters of a hyperparameter, as the catalog's index has them


class TableRun(QueriedRun, Protocol):
    """A run of a table: what filters look at, and the whole record when somebody wants it."""

    def record(self, hparams: Sequence[str] | None, metrics: Sequence[str] | None) -> RunRecord:
        """The record, with the named hyperparameters and metrics only; None stands for all."""
        ...


class _Position(NamedTuple):
    """Where a run stands in an order; positions of one phase compare by value and then number."""

    phase: int
    value: float | str | None
    number: int
    run: TableRun


_Positions = list[_Position]
Scalar = bool | int | float | str


class RunTable:
    """The runs that `runs` returns; it returns the same list as long as nothing has changed."""

    def __init__(self, runs: Callable[[], Sequence[TableRun]]) -> None:
        self._runs = runs
        self._ordered: tuple[object, object, Sequence[_Position]] | None = None

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        where: Query | None = None,
        sort: Sort = NEWEST_FIRST,
        limit: int = 50,
        after: str | None = None,
        in_bin: bool = False,
        hparams: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        now: datetime | None = None,
    ) -> ResultPage[RunRecord]:
        """One page. `after` is the `next` of the page before it."""
        check_limit(limit)
        order = _order_name(sort)
        positions = self._in_order(workspaces, where, sort, in_bin, now)
        start = 0 if after is None else _first_after(positions, Cursor.read(after, order), sort)
        page = positions[start : start + limit]
        records = [position.run.record(hparams, metrics) for position in page]
        is_last = start + limit >= len(positions)
        return ResultPage(records, None if is_last else _cursor(page[-1]).text(order))

    def marks(
        self,
        every: int,
        *,
        workspaces: Sequence[str] | None = None,
        where: Query | None = None,
        sort: Sort = NEWEST_FIRST,
        in_bin: bool = False,
        now: datetime | None = None,
    ) -> tuple[int, Sequence[str]]:
        """How many runs a list has, and the cursors at which its pages of `every` runs begin, but the first."""
        check_limit(every)
        positions = self._in_order(workspaces, where, sort, in_bin, now)
        ends = range(every - 1, len(positions) - 1, every)
        return len(positions), [_cursor(positions[at]).text(_order_name(sort)) for at in ends]

    def ordered(self, where: Query | None = None, sort: Sort = NEWEST_FIRST) -> Sequence[TableRun]:
        """All runs that match a filter, in an order."""
        return [position.run for position in self._in_order(None, where, sort, False, None)]

    def count(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        where: Query | None = None,
        in_bin: bool = False,
        now: datetime | None = None,
    ) -> int:
        return len(self.select(where, workspaces=workspaces, in_bin=in_bin, now=now))

    def select(
        self,
        where: Query | None = None,
        *,
        workspaces: Sequence[str] | None = None,
        in_bin: bool = False,
        now: datetime | None = None,
    ) -> Sequence[TableRun]:
        """All runs that match a filter, in the order of the table."""
        runs = [run for run in self._runs() if (run.deleted is not None) == in_bin]
        if workspaces is not None:
            names = set(map(folded, workspaces))
            runs = [run for run in runs if folded(run.workspace) in names]
        if where is None:
            return runs
        matches = compile_query(where, now or present())
        return [run for run in runs if matches(run)]

    def by_number(self, number: int) -> TableRun:
        """The run with this number, also one in the trash."""
        for run in self._runs():
            if run.number == number:
                return run
        raise UnknownName(f"There is no run {run_name(number)}.")

    def named(self, names: Iterable[str], *, in_bin: bool = False) -> Sequence[TableRun]:
        """The runs with one of these names or uids; case makes no difference in names."""
        given = list(names)
        uids, keys = set(given), {folded(name) for name in given}
        return [
            run
            for run in self._runs()
            if (run.deleted is not None) == in_bin and (run.uid in uids or folded(run.name) in keys)
        ]

    def field_names(self, names_of: Callable[[TableRun], Iterable[str]]) -> Sequence[str]:
        """The sorted names of all hyperparameters, metrics or tags, which `names_of` finds in a run."""
        return sorted({name for run in self._runs() for name in names_of(run)})

    def check(self, query: Query, text: str) -> None:
        """Refuse a filter that names a hyperparameter or metric which no run has. `text` is what was parsed."""
        for condition in conditions(query):
            self.check_field(condition.field, text)

    def check_field(self, field: Field, text: str) -> None:
        """The same for one field, as of a sort order."""
        if not isinstance(field, HparamField | MetricField):
            return

        def names_of(run: TableRun) -> Mapping[str, object]:
            return run.hparams if isinstance(field, HparamField) else run.metrics

        if not any(field.name in names_of(run) for run in self._runs()):
            raise unknown_name(field, self.field_names(names_of), text)

    def count_values(self, field: Field, *, prefix: str = "", limit: int = 20) -> Sequence[tuple[Scalar, int]]:
        """Values of a field and how many runs have them, the most frequent first. NaN and long texts are left out."""
        if isinstance(field, MetricField) or (isinstance(field, ColumnField) and field.name not in _COUNTED):
            hint = f"Values are listed of {', '.join(_COUNTED)}, hparams.NAME and tags.NAME."
            raise InvalidValue(f"Values of {field} are not listed.", hint=hint)
        # True equals 1 in a dictionary, while 1 and 1.0 are one number to a filter, too.
        counts: Counter[tuple[bool, Scalar]] = Counter()
        for run in self.select():
            counts.update((isinstance(value, bool), value) for value in values_of(field, run) if _is_listed(value))
        wanted = prefix.lower()
        found = [(value, count) for (_, value), count in counts.items() if str(value).lower().startswith(wanted)]
        return sorted(found, key=lambda one: (-one[1], isinstance(one[0], str), one[0]))[:limit]

    def _in_order(
        self,
        workspaces: Sequence[str] | None,
        where: Query | None,
        sort: Sort,
        in_bin: bool,
        now: datetime | None,
    ) -> Sequence[_Position]:
        runs, key = self._runs(), (None if workspaces is None else tuple(workspaces), where, sort, in_bin, now)
        if self._ordered is not None and self._ordered[0] is runs and self._ordered[1] == key:
            return self._ordered[2]
        phases: dict[int, _Positions] = {}
        for run in self.select(where, workspaces=workspaces, in_bin=in_bin, now=now):
            position = _position(run, sort.field)
            phases.setdefault(position.phase, []).append(position)
        ordered: _Positions = []
        for phase in sorted(phases):
            is_rest = phases[phase][0].value is None and not _is_by_number(sort.field)
            descending = True if is_rest else sort.descending
            ordered += sorted(phases[phase], key=_sort_key, reverse=descending)
        self._ordered = (runs, key, ordered)
        return ordered


_COUNTED = ("name", "workspace", "experiment", "user", "host", "store")


def _is_listed(value: object) -> TypeGuard[Scalar]:
    if isinstance(value, str):
        return len(value) <= _LONGEST_VALUE
    return isinstance(value, int) or (isinstance(value, float) and not math.isnan(value))


def _order_name(sort: Sort) -> str:
    return f"{'-' * sort.descending}{sort.field}"


def _is_by_number(field: Field) -> bool:
    return isinstance(field, ColumnField) and field.name == "number"


def _position(run: TableRun, field: Field) -> _Position:
    number = run.number or 0
    if _is_by_number(field):
        return _Position(0, None, number, run)
    values = values_of(field, run)
    value = values[0] if values else None
    has_kinds = isinstance(field, HparamField)
    match value:
        case bool():
            return _Position(2, int(value), number, run)
        case int() | float() if not math.isnan(as_double(value)):
            return _Position(0, as_double(value), number, run)
        case str():
            return _Position(1, value[:_SORTED_TEXT], number, run) if has_kinds else _Position(0, value, number, run)
        case datetime():
            return _Position(0, value.timestamp(), number, run)
        case _:
            return _Position(3 if has_kinds else 1, None, number, run)


def _sort_key(position: _Position) -> tuple[float | str, int]:
    return (0 if position.value is None else position.value), position.number


def _cursor(position: _Position) -> Cursor:
    return Cursor(position.phase, position.value, position.number)


def _first_after(positions: Sequence[_Position], cursor: Cursor, sort: Sort) -> int:
    """Where the page after a cursor begins, also when the run it names is gone."""
    for index, position in enumerate(positions):
        if position.phase != cursor.phase:
            if position.phase > cursor.phase:
                return index
            continue
        if (position.value is None) != (cursor.value is None) or isinstance(position.value, str) != isinstance(
            cursor.value, str
        ):
            raise InvalidValue("This is not where a page of this list ended.", hint="Begin with the first page.")
        descending = sort.descending if cursor.value is not None or _is_by_number(sort.field) else True
        here, there = _sort_key(position), (0 if cursor.value is None else cursor.value, cursor.number)
        if (here < there) if descending else (here > there):
            return index
    return len(positions)
