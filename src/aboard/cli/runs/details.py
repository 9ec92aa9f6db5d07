# SPDX-License-Identifier: Apache-2.0
"""`aboard runs show` and `compare`: one run with everything, two runs with what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import typer

from aboard.cli.output import (
    EMPTY,
    MAX_WIDTH,
    bytes_text,
    duration_text,
    local_time,
    number_text,
    plain,
    print_csv,
    print_json,
    print_pairs,
    print_table,
    shown,
)
from aboard.client.client import Client
from aboard.errors import AboardError
from aboard.model.names import experiment_name, run_name
from aboard.model.runs import Attempt, MetricPoint, RunRecord
from aboard.model.times import parse_time


def show_run(name: str, *, as_json: bool) -> None:
    """Print all that is known of a run."""
    run = Client().runs.get(name)
    if as_json:
        print_json(run)
        return
    print_pairs(_facts(run))
    _section("hyperparameters", {name: shown(value) for name, value in run.hparams.items()})
    _print_metrics(run)
    _section("tags", {name: plain(value) for name, value in run.tags.items()})
    if run.notes:
        typer.echo("\nnotes")
        for note in run.notes:
            moment = local_time(note.written) if note.written else EMPTY
            typer.echo(f"  {moment}  {shown(note.author)}: {plain(note.text)}")
    for attempt in run.attempts:
        _print_attempt(attempt)
    _section("more", _flat(run.details))


def _facts(run: RunRecord) -> dict[str, str]:
    group = f"{run.experiment} ({experiment_name(run.experiment_number)})" if run.experiment_number else run.experiment
    return {
        "run": run_name(run.number) if run.number else EMPTY,
        "name": shown(run.name),
        "uid": run.uid,
        "workspace": run.workspace,
        "experiment": shown(group),
        "status": shown(run.status),
        "reason": shown(run.reason),
        "exit code": shown(run.exit_code),
        "user": shown(run.user),
        "host": shown(run.host),
        "store": shown(run.store),
        "created": shown(run.created),
        "started": shown(run.started),
        "ended": shown(run.ended),
        "heartbeat": shown(run.heartbeat),
        "duration": EMPTY if run.duration is None else duration_text(run.duration),
        "files": shown(run.files),
        "size": EMPTY if run.bytes is None else bytes_text(run.bytes),
        **({"deleted": shown(run.deleted)} if run.deleted else {}),
    }


def _print_metrics(run: RunRecord) -> None:
    if not run.metrics:
        return
    typer.echo("\nmetrics")
    rows = [
        [plain(name), str(one.count), *_point(one.last), *_point(one.smallest), *_point(one.largest)]
        for name, one in run.metrics.items()
    ]
    titles = ["metric", "points", "last", "at step", "min", "at step", "max", "at step"]
    print_table(titles, rows, right=[False, *[True] * 7])


def _point(point: MetricPoint | None) -> tuple[str, str]:
    return (EMPTY, EMPTY) if point is None else (number_text(point.value, 6), str(point.step))


def _print_attempt(attempt: Attempt) -> None:
    facts = {
        "status": shown(attempt.status),
        "started": shown(attempt.started),
        "ended": shown(attempt.ended),
        "host": shown(attempt.host),
        "exit code": shown(attempt.exit_code),
        "reason": shown(attempt.reason),
    }
    _section(f"attempt {attempt.number}", {**facts, **_flat(attempt.details)})


def _section(title: str, pairs: Mapping[str, str]) -> None:
    if pairs:
        typer.echo(f"\n{title}")
        print_pairs({plain(name): text for name, text in pairs.items()}, indent="  ")


def _flat(details: Mapping[str, object], above: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in details.items():
        if isinstance(value, Mapping) and name == "packages":
            found[f"{above}{name}"] = f"{len(cast('Mapping[str, object]', value))}; --json lists them"
        elif isinstance(value, Mapping):
            found |= _flat(cast("Mapping[str, object]", value), f"{above}{name}.")
        else:
            found[f"{above}{name}"] = shown(value)
    return found


def compare_runs(first: str, second: str, *, as_json: bool, as_csv: bool) -> None:
    """Print the fields in which two runs differ."""
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
            [plain(one.field), _side(one.field, one.first), _side(one.field, one.second)]
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
            return local_time(parse_time(value))
        except AboardError:
            return shown(value)
    if field in {"duration", "bytes"} and isinstance(value, (int, float)):
        return duration_text(value) if field == "duration" else bytes_text(value)
    return shown(value, precision=6)
