# SPDX-License-Identifier: Apache-2.0
"""`aboard runs list`: runs by filter, in any order, with any columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import typer

from aboard.cli.run_columns import RunColumn, all_names, group_title, run_columns, sortable
from aboard.cli.table_text import print_csv, print_json, print_table
from aboard.client.client import Client
from aboard.errors import InvalidValue
from aboard.model.query.fields import in_stages, unknown_name
from aboard.model.query.parser import parse_query
from aboard.model.query.sorting import parse_sort
from aboard.model.query.syntax import Hparam, Metric, conditions
from aboard.model.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What was asked for."""

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
    client = Client()
    columns = run_columns(options.columns, options.add_columns)
    group = run_columns(options.group, None)[0] if options.group else None
    is_full = options.available or (options.as_json and not options.columns and not options.add_columns)
    runs, following = _asked(client, options, [] if is_full else [*columns, *([group] if group else [])])
    if group:
        runs.sort(key=lambda run: sortable(group.value(run)))
    if options.available:
        typer.echo(all_names(runs) if runs else all_names().replace(", ", "\n"))
    elif options.as_json:
        _print_json(runs, following, columns, group, is_full=is_full)
    elif options.as_csv:
        shown = [group, *columns] if group else columns
        print_csv([one.title for one in shown], ([one.value(run) for one in shown] for run in runs))
    else:
        _print_tables(runs, columns, group, options)
        _tell_rest(client, options, len(runs), is_all=following is None)


def where_of(options: ListOptions) -> str | None:
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
    if not isinstance(field, (Hparam, Metric)):
        return
    names = client.runs.fields(workspaces=tuple(options.workspaces))
    known = names.hparams if isinstance(field, Hparam) else names.metrics
    if field.name not in known:
        raise unknown_name(field, known, (options.sort or "").strip().removeprefix("-"))


def _tell_stages(client: Client, options: ListOptions) -> None:
    """Nothing was found by a metric that may have been meant in a stage: `train/loss` is not `loss`."""
    if not options.where:
        return
    known = client.runs.fields(workspaces=tuple(options.workspaces)).metrics
    for field in dict.fromkeys(condition.field for condition in conditions(parse_query(options.where))):
        if isinstance(field, Metric) and (near := in_stages(field.name, known)):
            written = " or ".join(str(Metric(name, field.part)) for name in near[:3])
            typer.echo(f"note: For a metric that was logged in a stage, write {written}.", err=True)


def _asked(client: Client, options: ListOptions, columns: Sequence[RunColumn]) -> tuple[list[Run], str | None]:
    # Without any named, the server sends all of them; a table of others needs none.
    wanted = ([name for column in columns for name in column.asked] or ["name"]) if columns else None
    workspaces, where = tuple(options.workspaces), where_of(options)
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


def _groups(runs: Sequence[Run], group: RunColumn | None) -> Iterator[tuple[object, list[Run]]]:
    if group is None:
        yield None, list(runs)
        return
    for value, members in itertools.groupby(runs, key=group.value):
        yield value, list(members)


def _print_tables(
    runs: Sequence[Run], columns: Sequence[RunColumn], group: RunColumn | None, options: ListOptions
) -> None:
    titles, right = [one.title for one in columns], [one.is_number for one in columns]
    for place, (value, members) in enumerate(_groups(runs, group)):
        if group:
            typer.echo(f"{chr(10) * bool(place)}{group.title}: {group_title(value)} ({len(members)})")
        rows = [[one.text(run, options.precision) for one in columns] for run in members]
        print_table(titles, rows, right=right, max_width=options.max_width)


def _print_json(
    runs: Sequence[Run], following: str | None, columns: Sequence[RunColumn], group: RunColumn | None, *, is_full: bool
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
        where=where_of(options),
        in_bin=options.in_bin,
    )
    typer.echo(f"{count} of {total} runs; --all shows all, --last N more", err=True)
