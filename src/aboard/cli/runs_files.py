# SPDX-License-Identifier: Apache-2.0
"""`aboard runs usage` and `export`: what runs take in their stores, and their points as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from aboard.cli.export import ExportOptions, export
from aboard.cli.export_format import ExportFormat
from aboard.cli.named_runs import selected_runs
from aboard.cli.roots import roots_of
from aboard.cli.shown_values import bytes_text, shown
from aboard.cli.table_text import print_csv, print_json, print_table
from aboard.client.client import Client
from aboard.errors import InvalidValue, StoreError
from aboard.model.names import run_name
from aboard.model.selected_run import SelectedRun

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
    shown_rows = [[_group(by, group), str(runs), str(files), bytes_text(size)] for group, runs, files, size in rows]
    shown_rows.append(["all", str(usage.runs), str(usage.files), bytes_text(usage.bytes)])
    print_table([by, "runs", "files", "size"], shown_rows, right=[False, True, True, True])


def _group(by: str, group: str) -> str:
    return group.upper() if by == "status" else shown(group)


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
    runs = selected_runs(client, names, where)
    names_of = Counter(run.name for run in runs)
    named = {run.name if names_of[run.name] == 1 else run_name(run.number): run for run in runs}
    options = ExportOptions(
        roots={}, output=output, format=form, tags=tags, runs=[], superseded=superseded, force=force
    )
    if through_server:
        from aboard.cli.served_export import export_served

        export_served(client, named, options)
        return
    roots = roots_of([f"{name}={_root(run)}" for name, run in named.items()], None, None)
    try:
        export(replace(options, roots=roots))
    except StoreError as error:
        raise type(error)(error.message, hint=f"{error.hint} {_THROUGH_SERVER}".strip()) from None


def _root(run: SelectedRun) -> str:
    """Where the event files are: in a folder as they are, in a bucket as the manifest of the run says."""
    if not run.store:
        raise InvalidValue(f"{run.name} is in no store that the server knows", hint="`aboard reindex STORE` finds it")
    return f"{run.store}/{run.uid}" if "://" in run.store else f"{run.store}/{run.uid}/tb"
