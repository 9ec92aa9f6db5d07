# SPDX-License-Identifier: Apache-2.0
"""`aboard runs list`: runs by filter, in any order and in any columns.

A column is a field with a title and a format, such as `name`, `hparams.lr=LR` or `metrics.loss.min:.3f`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from aboard.cli.output import (
    EMPTY,
    PRECISION,
    format_bytes,
    format_duration,
    format_value,
    print_csv,
    print_json,
    print_table,
)
from aboard.errors import InvalidValue
from aboard.model.names import experiment_name, run_name
from aboard.model.query.evaluate import QueriedRun, values_of
from aboard.model.query.fields import COLUMNS, in_stages, parse_field, parse_sort, unknown_name
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import ColumnField, Field, HparamField, MetricField, MetricPart, conditions
from aboard.model.runs import RunRecord

if TYPE_CHECKING:
    from aboard.client.client import Client

DEFAULT = ("run", "name", "workspace", "experiment", "status", "created", "duration", "tags")
# Columns that tables have and filters do not.
_OWN = ("run", "tags", "exp")


@dataclass(frozen=True)
class RunColumn:
    """One column. `field` is None for those of `_OWN`."""

    name: str
    title: str
    field: Field | None
    form: str = ""
    """As of Python's format(), for numbers."""

    def value(self, run: QueriedRun) -> object:
        """What a run has in it; None where it has nothing."""
        if self.field is None:
            return self._own(run)
        values = values_of(self.field, run)
        if self.field == ColumnField("status", COLUMNS["status"]):
            return run.status
        return (values or [None])[0] if len(values) < 2 else values

    def text(self, run: QueriedRun, precision: int = PRECISION) -> str:
        """The value as a table shows it."""
        value = self.value(run)
        if self.form and isinstance(value, (int, float)) and not isinstance(value, bool):
            return format(value, self.form)
        if isinstance(self.field, ColumnField) and isinstance(value, (int, float)):
            if self.field.name == "bytes":
                return format_bytes(value)
            if self.field.name == "duration":
                return format_duration(value)
        return format_value(value, precision=precision)

    @property
    def is_number(self) -> bool:
        """Whether its values stand to the right."""
        if isinstance(self.field, ColumnField):
            return str(self.field.kind) == "number"
        return isinstance(self.field, (MetricField, HparamField))

    @property
    def field_names(self) -> list[str]:
        """The metrics and hyperparameters to request; the server sends only these."""
        return [self.name] if isinstance(self.field, (MetricField, HparamField)) else []

    def _own(self, run: QueriedRun) -> object:
        if self.name == "tags":
            return dict(run.tags) or None
        if self.name == "exp":
            return experiment_name(run.experiment_number) if run.experiment_number else None
        return run_name(run.number) if run.number else run.uid


def parse_columns(given: str | None, added: str | None) -> list[RunColumn]:
    """The columns that a person names, separated by commas: `name`, `name=Title`, `metrics.loss.min:.3f`."""
    names = _parts(given) if given else list(DEFAULT)
    columns = [_column(name) for name in [*names, *_parts(added or "")]]
    if not columns:
        raise InvalidValue("no column is named", hint=f"name some of {list_names()}, hparams.NAME, metrics.NAME.min")
    return columns


def list_names(runs: Sequence[RunRecord] = ()) -> str:
    """All columns, with the hyperparameters, metrics and tags of some runs."""
    parts = ", ".join(part.value for part in MetricPart)
    found = [*_OWN, *COLUMNS]
    found += sorted({f"hparams.{name}" for run in runs for name in run.hparams})
    found += sorted({f"metrics.{name}.({parts})" for run in runs for name in run.metrics})
    found += sorted({f"tags.{name}" for run in runs for name in run.tags})
    return ", ".join(found) if not runs else "\n".join(found)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _column(text: str) -> RunColumn:
    rest, _, form = text.partition(":")
    name, equals, title = rest.partition("=")
    name = name.strip()
    if form:
        _check_form(form)
    field = None if name in _OWN else parse_field(name)
    return RunColumn(name, title.strip() if equals else name, field, form)


def _check_form(form: str) -> None:
    for example in (1.5, 2):
        try:
            format(example, form)
            return
        except ValueError:
            continue
    raise InvalidValue(f"{form!r} is not a format for numbers", hint="write metrics.loss:.3f, bytes:, or the like")


def format_group(value: object) -> str:
    """What stands above a group of runs."""
    return EMPTY if value is None else format_value(value)


def make_sort_key(value: object) -> tuple[int, object]:
    """A key that brings any two values into an order: numbers, texts, the rest, nothing."""
    if value is None:
        return 4, 0
    if isinstance(value, (int, float)):
        return 0, float(value)
    if isinstance(value, datetime):
        return 1, value.timestamp()
    return (2, str(value)) if isinstance(value, str) else (3, str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    where: str | None = None
    workspaces: Sequence[str] = ()
    experiment: str | None = None
    statuses: Sequence[str] = ()
    tags: Sequence[str] = ()
    user: str | None = None
    sort: str | None = None
    group: str | None = None
    last: int = 20
    everything: bool = False
    columns: str | None = None
    add_columns: str | None = None
    in_bin: bool = False
    precision: int = 4
    max_width: int = 40
    available: bool = False
    as_json: bool = False
    as_csv: bool = False


def list_runs(options: ListOptions) -> None:
    """Ask and print."""
    if options.as_json and options.as_csv:
        raise InvalidValue("--json and --csv are two forms of one list", hint="use one of both")
    from aboard.client.client import Client

    client = Client()
    columns = parse_columns(options.columns, options.add_columns)
    group = parse_columns(options.group, None)[0] if options.group else None
    is_full = options.available or (options.as_json and not options.columns and not options.add_columns)
    runs, following = _fetch_runs(client, options, [] if is_full else [*columns, *([group] if group else [])])
    if group:
        runs.sort(key=lambda run: make_sort_key(group.value(run)))
    if options.available:
        typer.echo(list_names(runs) if runs else list_names().replace(", ", "\n"))
    elif options.as_json:
        _print_json(runs, following, columns, group, is_full=is_full)
    elif options.as_csv:
        shown = [group, *columns] if group else columns
        print_csv([one.title for one in shown], ([one.value(run) for one in shown] for run in runs))
    else:
        _print_tables(runs, columns, group, options)
        _tell_rest(client, options, len(runs), is_all=following is None)


def make_filter(options: ListOptions) -> str | None:
    """All filters as one text of the query language."""
    parts = [f"({options.where})"] if options.where else []
    if options.statuses:
        parts.append(f"status in [{', '.join(json.dumps(one.lower()) for one in options.statuses)}]")
    parts += [_tag_filter(text) for text in options.tags]
    if options.user:
        parts.append(f"user == {json.dumps(options.user)}")
    # Alone it goes as it stands: errors point at places in it.
    return options.where if len(parts) == 1 and options.where else " and ".join(parts) or None


def _tag_filter(text: str) -> str:
    name, equals, value = text.partition("=")
    return f"tags.{json.dumps(name)} == {json.dumps(value)}" if equals else f"{json.dumps(name)} in tags"


def _check_sort(client: Client, options: ListOptions) -> None:
    """Refuse to sort by what no run has. A page that waits for the first values may; a list is printed once."""
    field = parse_sort(options.sort or "name").field
    if not isinstance(field, (HparamField, MetricField)):
        return
    names = client.runs.fields(workspaces=tuple(options.workspaces))
    known = names.hparams if isinstance(field, HparamField) else names.metrics
    if field.name not in known:
        raise unknown_name(field, known, (options.sort or "").strip().removeprefix("-"))


def _tell_stages(client: Client, options: ListOptions) -> None:
    """Nothing was found by a metric that may have been meant in a stage: `train/loss` is not `loss`."""
    if not options.where:
        return
    known = client.runs.fields(workspaces=tuple(options.workspaces)).metrics
    for field in dict.fromkeys(condition.field for condition in conditions(parse_query(options.where))):
        if isinstance(field, MetricField) and (near := in_stages(field.name, known)):
            written = " or ".join(str(MetricField(name, field.part)) for name in near[:3])
            typer.echo(f"note: For a metric that was logged in a stage, write {written}.", err=True)


def _fetch_runs(
    client: Client, options: ListOptions, columns: Sequence[RunColumn]
) -> tuple[list[RunRecord], str | None]:
    # Without any named, the server sends all of them; a table of others needs none.
    wanted = ([name for column in columns for name in column.field_names] or ["name"]) if columns else None
    workspaces, where = tuple(options.workspaces), make_filter(options)
    _check_sort(client, options)
    if options.everything:
        runs = client.runs.iterate(
            workspaces=workspaces,
            experiment=options.experiment,
            where=where,
            sort=options.sort,
            columns=wanted,
            in_bin=options.in_bin,
        )
        return list(runs), None
    page = client.runs.list(
        workspaces=workspaces,
        experiment=options.experiment,
        where=where,
        sort=options.sort,
        limit=options.last,
        columns=wanted,
        in_bin=options.in_bin,
    )
    return list(page.items), page.next


def _groups(runs: Sequence[RunRecord], group: RunColumn | None) -> Iterator[tuple[object, list[RunRecord]]]:
    if group is None:
        yield None, list(runs)
        return
    for value, members in itertools.groupby(runs, key=group.value):
        yield value, list(members)


def _print_tables(
    runs: Sequence[RunRecord], columns: Sequence[RunColumn], group: RunColumn | None, options: ListOptions
) -> None:
    titles, right = [one.title for one in columns], [one.is_number for one in columns]
    for place, (value, members) in enumerate(_groups(runs, group)):
        if group:
            typer.echo(f"{chr(10) * bool(place)}{group.title}: {format_group(value)} ({len(members)})")
        rows = [[one.text(run, options.precision) for one in columns] for run in members]
        print_table(titles, rows, right=right, max_width=options.max_width)


def _print_json(
    runs: Sequence[RunRecord],
    following: str | None,
    columns: Sequence[RunColumn],
    group: RunColumn | None,
    *,
    is_full: bool,
) -> None:
    shown = [group, *columns] if group else columns
    items: list[object] = list(runs) if is_full else [{one.title: one.value(run) for one in shown} for run in runs]
    print_json({"items": items, "next": following})


def _tell_rest(client: Client, options: ListOptions, count: int, *, is_all: bool) -> None:
    if is_all:
        typer.echo(f"{count} run{'s' * (count != 1)}", err=True)
        if not count:
            _tell_stages(client, options)
        return
    total = client.runs.count(
        workspaces=tuple(options.workspaces),
        experiment=options.experiment,
        where=make_filter(options),
        in_bin=options.in_bin,
    )
    typer.echo(f"{count} of {total} runs; --all shows all, --last N more", err=True)
