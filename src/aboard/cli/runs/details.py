# SPDX-License-Identifier: Apache-2.0
"""`aboard runs show` and `compare`: one run with everything, two runs with what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

import typer

from aboard.cli.output import (
    EMPTY,
    MAX_WIDTH,
    escape_control,
    format_bytes,
    format_duration,
    format_number,
    format_time,
    format_value,
    print_csv,
    print_json,
    print_pairs,
    print_table,
)
from aboard.cli.parsing import Csv, Json
from aboard.client.client import Client
from aboard.errors import AboardError
from aboard.model.names import experiment_name, run_name
from aboard.model.runs import Attempt, MetricPoint, RunRecord
from aboard.model.times import parse_time


def show(
    name: Annotated[str, typer.Argument(metavar="RUN", help="run343, a name or a uid.")], *, as_json: Json = False
) -> None:
    """Print all that is known of a run."""
    run = Client().runs.get(name)
    if as_json:
        print_json(run)
        return
    print_pairs(_facts(run))
    _section("hyperparameters", {name: format_value(value) for name, value in run.hparams.items()})
    _print_metrics(run)
    _section("tags", {name: escape_control(value) for name, value in run.tags.items()})
    if run.notes:
        typer.echo("\nnotes")
        for note in run.notes:
            moment = format_time(note.written) if note.written else EMPTY
            typer.echo(f"  {moment}  {format_value(note.author)}: {escape_control(note.text)}")
    for attempt in run.attempts:
        _print_attempt(attempt)
    _section("more", _flat(run.details))


def _facts(run: RunRecord) -> dict[str, str]:
    group = f"{run.experiment} ({experiment_name(run.experiment_number)})" if run.experiment_number else run.experiment
    return {
        "run": run_name(run.number) if run.number else EMPTY,
        "name": format_value(run.name),
        "uid": run.uid,
        "workspace": run.workspace,
        "experiment": format_value(group),
        "status": format_value(run.status),
        "reason": format_value(run.reason),
        "exit code": format_value(run.exit_code),
        "user": format_value(run.user),
        "host": format_value(run.host),
        "store": format_value(run.store),
        "created": format_value(run.created),
        "started": format_value(run.started),
        "ended": format_value(run.ended),
        "heartbeat": format_value(run.heartbeat),
        "duration": EMPTY if run.duration is None else format_duration(run.duration),
        "files": format_value(run.files),
        "size": EMPTY if run.bytes is None else format_bytes(run.bytes),
        **({"deleted": format_value(run.deleted)} if run.deleted else {}),
    }


def _print_metrics(run: RunRecord) -> None:
    if not run.metrics:
        return
    typer.echo("\nmetrics")
    rows = [
        [escape_control(name), str(one.count), *_point(one.last), *_point(one.smallest), *_point(one.largest)]
        for name, one in run.metrics.items()
    ]
    titles = ["metric", "points", "last", "at step", "min", "at step", "max", "at step"]
    print_table(titles, rows, right=[False, *[True] * 7])


def _point(point: MetricPoint | None) -> tuple[str, str]:
    return (EMPTY, EMPTY) if point is None else (format_number(point.value, 6), str(point.step))


def _print_attempt(attempt: Attempt) -> None:
    facts = {
        "status": format_value(attempt.status),
        "started": format_value(attempt.started),
        "ended": format_value(attempt.ended),
        "host": format_value(attempt.host),
        "exit code": format_value(attempt.exit_code),
        "reason": format_value(attempt.reason),
    }
    _section(f"attempt {attempt.number}", {**facts, **_flat(attempt.details)})


def _section(title: str, pairs: Mapping[str, str]) -> None:
    if pairs:
        typer.echo(f"\n{title}")
        print_pairs({escape_control(name): text for name, text in pairs.items()}, indent="  ")


def _flat(details: Mapping[str, object], above: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in details.items():
        if isinstance(value, Mapping) and name == "packages":
            found[f"{above}{name}"] = f"{len(cast('Mapping[str, object]', value))}; --json lists them"
        elif isinstance(value, Mapping):
            found |= _flat(cast("Mapping[str, object]", value), f"{above}{name}.")
        else:
            found[f"{above}{name}"] = format_value(value)
    return found


def compare(
    first: Annotated[str, typer.Argument()],
    second: Annotated[str, typer.Argument()],
    *,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Print what differs between two runs."""
    comparison = Client().runs.compare(first, second)
    titles = ["field", *(_title(run) for run in (comparison.first, comparison.second))]
    if as_json:
        names = [titles[1], titles[2]]
        print_json({"runs": names, "differences": comparison.differences, "same": comparison.same})
    elif as_csv:
        print_csv(titles, [(one.field, one.first, one.second) for one in comparison.differences])
    elif not comparison.differences:
        typer.echo("They do not differ.")
    else:
        rows = [
            [escape_control(one.field), _side(one.field, one.first), _side(one.field, one.second)]
            for one in comparison.differences
        ]
        print_table(titles, rows, max_width=2 * MAX_WIDTH)


def _title(run: RunRecord) -> str:
    number = run_name(run.number) if run.number else run.uid
    return number if run.name in {"", number} else f"{number} ({run.name})"


def _side(field: str, value: object) -> str:
    if value is None:
        return EMPTY
    if field == "status":
        return str(value).upper()
    if field in {"created", "started", "ended"}:
        try:
            return format_time(parse_time(value))
        except AboardError:
            return format_value(value)
    if field in {"duration", "bytes"} and isinstance(value, (int, float)):
        return format_duration(value) if field == "duration" else format_bytes(value)
    return format_value(value, precision=6)
