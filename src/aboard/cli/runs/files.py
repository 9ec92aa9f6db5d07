# SPDX-License-Identifier: Apache-2.0
"""`aboard runs usage` and `export`: the space that runs take, and their points from the stores or from the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from aboard.cli.arguments import parse_roots
from aboard.cli.export import ExportOptions, check_format, export, open_output, report_exported
from aboard.cli.output import format_bytes, format_value, print_csv, print_json, print_table, progress_line
from aboard.cli.parsing import ExportFormat
from aboard.cli.selections import select_runs
from aboard.client.client import Client
from aboard.client.series import CurveColumns
from aboard.errors import InvalidValue, StoreError
from aboard.exchange.export import ExportResult, NamePatterns
from aboard.model.names import run_name
from aboard.model.selections import SelectedRun
from aboard.reader.hparams import HParam
from aboard.reader.opened.tables import Rows

_THROUGH_SERVER = "With --through-server the server, which reads the store for you, tells the points."
GROUPS = ("workspace", "experiment", "user", "store", "status")


def show_usage(by: str, workspaces: Sequence[str], *, in_bin: bool, as_json: bool, as_csv: bool) -> None:
    """Print how much runs take, by group."""
    if by not in GROUPS:
        raise InvalidValue(f"--by {by!r} is not a way to group runs", hint=f"use one of {', '.join(GROUPS)}")
    usage = Client().runs.usage(by=by, workspaces=tuple(workspaces), in_bin=in_bin)
    if as_json:
        print_json(usage)
        return
    rows = [(row.group, row.runs, row.files, row.bytes) for row in usage.items]
    if as_csv:
        print_csv([by, "runs", "files", "bytes"], rows)
        return
    shown_rows = [[_group(by, group), str(runs), str(files), format_bytes(size)] for group, runs, files, size in rows]
    shown_rows.append(["all", str(usage.runs), str(usage.files), format_bytes(usage.bytes)])
    print_table([by, "runs", "files", "size"], shown_rows, right=[False, True, True, True])


def _group(by: str, group: str) -> str:
    return group.upper() if by == "status" else format_value(group)


def export_runs(
    names: Sequence[str],
    where: str | None,
    output: str,
    form: ExportFormat | None,
    tags: Sequence[str],
    *,
    superseded: bool,
    force: bool,
    through_server: bool,
) -> None:
    """Write every point of every curve of runs, straight from their stores or as the server tells them."""
    client = Client()
    runs = select_runs(client, names, where)
    names_of = Counter(run.name for run in runs)
    named = {run.name if names_of[run.name] == 1 else run_name(run.number): run for run in runs}
    options = ExportOptions(
        roots={}, output=output, format=form, tags=tags, runs=[], superseded=superseded, force=force
    )
    if through_server:
        export_through_server(client, named, options)
        return
    roots = parse_roots([f"{name}={_root(run)}" for name, run in named.items()], None, None)
    try:
        export(replace(options, roots=roots))
    except StoreError as error:
        raise type(error)(error.message, hint=f"{error.hint} {_THROUGH_SERVER}".strip()) from None


def _root(run: SelectedRun) -> str:
    """Where the event files are: in a folder as they are, in a bucket as the manifest of the run says."""
    if not run.store:
        raise InvalidValue(f"{run.name} is in no store that the server knows", hint="`aboard reindex STORE` finds it")
    return f"{run.store}/{run.uid}" if "://" in run.store else f"{run.store}/{run.uid}/tb"


@dataclass(frozen=True, slots=True)
class _Logdir:
    """A logdir as an export names it."""

    name: str
    hparams: Mapping[str, HParam]


def export_through_server(client: Client, runs: Mapping[str, SelectedRun], options: ExportOptions) -> None:
    """Write the points of runs, which are given by the names that they get in the table."""
    if options.superseded:
        raise InvalidValue(
            "the server tells no points that were logged anew",
            hint="leave away --superseded, or leave away --through-server to read the stores from here",
        )
    form, tags = check_format(options), NamePatterns(options.tags)
    if options.tags:
        infos = [info.tag for run in runs.values() for info in client.series.tags(run_name(run.number), kind="scalar")]
        tags.refuse_idle(dict.fromkeys(infos).keys(), "scalar tag")
    done = ExportResult()
    with open_output(options) as file, progress_line(lambda: f"{done.points:,} points of {done.runs} runs written"):
        target = form(file, superseded=False)
        target.begin()
        for name, run in runs.items():
            for logdir, curves in _logdirs(client, name, run, tags):
                target.begin_run(logdir)
                for curve in curves:
                    target.add(Rows(logdir.name, curve.tag, curve.steps, curve.wall_times, curve.values))
                    done.points += len(curve)
                done.series += len(curves)
                done.runs += 1
        target.end()
    report_exported(done, options)


def _logdirs(
    client: Client, name: str, run: SelectedRun, tags: NamePatterns
) -> Iterator[tuple[_Logdir, Sequence[CurveColumns]]]:
    """One run at a time is asked for, so that memory holds the points of one."""
    asked = run_name(run.number)
    curves = [curve for curve in client.series.get(asked) if tags.fits(curve.tag) and len(curve)]
    hparams = client.runs.get(asked).hparams
    for logdir, found in groupby(sorted(curves, key=lambda one: one.logdir), key=lambda one: one.logdir):
        yield _Logdir(f"{name}/{logdir}" if logdir else name, hparams), list(found)
