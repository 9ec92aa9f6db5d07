# SPDX-License-Identifier: Apache-2.0
"""Experiments and workspaces as lists, and one of them with what is in it."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from aboard.cli.runs_list import ListOptions, list_runs
from aboard.cli.shown_values import bytes_text, shown
from aboard.cli.table_text import MAX_WIDTH, print_csv, print_json, print_pairs, print_table
from aboard.client.client import Client
from aboard.model.experiment import Experiment
from aboard.model.names import experiment_name
from aboard.model.run_states import RunState

_TITLES = ["experiment", "name", "workspace", "created", "runs", "states", "description", "tags"]


def list_experiments(workspaces: Sequence[str], last: int, *, in_bin: bool, as_json: bool, as_csv: bool) -> None:
    """Print experiments, newest first."""
    page = Client().experiments.list(workspaces=tuple(workspaces), limit=last, in_bin=in_bin)
    if as_json:
        print_json(page)
    elif as_csv:
        states = list(RunState)
        rows = [
            [experiment_name(one.number), one.name, one.workspace, one.created, one.description, _total(one)]
            + [one.runs.get(state, 0) for state in states]
            for one in page.items
        ]
        print_csv(["experiment", "name", "workspace", "created", "description", "runs", *map(str, states)], rows)
    else:
        print_table(_TITLES, [_row(one) for one in page.items], right=[False] * 4 + [True], max_width=MAX_WIDTH)
        more = "; --last N shows more" if page.next else ""
        typer.echo(f"{len(page.items)} experiment{'s' * (len(page.items) != 1)}{more}", err=True)


def show_experiment(name: str, *, as_json: bool) -> None:
    """Print one experiment, and its runs."""
    client = Client()
    experiment = client.experiments.get(name)
    if as_json:
        print_json(experiment)
        return
    print_pairs(dict(zip(_TITLES, _row(experiment), strict=True)))
    typer.echo()
    list_runs(ListOptions(experiment=experiment_name(experiment.number), in_bin=experiment.deleted is not None))


def list_workspaces(*, in_bin: bool, as_json: bool, as_csv: bool) -> None:
    """Print workspaces by name."""
    page = Client().workspaces.list(in_bin=in_bin)
    titles = ["workspace", "created", "experiments", "runs", "size", "description"]
    if as_json:
        print_json(page)
    elif as_csv:
        rows = [(one.name, one.created, one.experiments, one.runs, one.bytes, one.description) for one in page.items]
        print_csv([*titles[:4], "bytes", "description"], rows)
    else:
        shown_rows = [
            [
                one.name,
                shown(one.created),
                str(one.experiments),
                str(one.runs),
                bytes_text(one.bytes),
                shown(one.description),
            ]
            for one in page.items
        ]
        print_table(titles, shown_rows, right=[False, False, True, True, True], max_width=2 * MAX_WIDTH)


def show_workspace(name: str, *, as_json: bool) -> None:
    """Print one workspace, and its experiments."""
    client = Client()
    workspace = client.workspaces.get(name)
    if as_json:
        print_json(workspace)
        return
    print_pairs(
        {
            "workspace": workspace.name,
            "created": shown(workspace.created),
            "description": shown(workspace.description),
            "experiments": str(workspace.experiments),
            "runs": str(workspace.runs),
            "size": bytes_text(workspace.bytes),
            **({"deleted": shown(workspace.deleted)} if workspace.deleted else {}),
        }
    )
    typer.echo()
    in_bin = workspace.deleted is not None
    list_experiments([workspace.name], 50, in_bin=in_bin, as_json=False, as_csv=False)


def _row(one: Experiment) -> list[str]:
    states = ", ".join(f"{count} {str(state).upper()}" for state, count in one.runs.items() if count)
    return [
        experiment_name(one.number),
        one.name,
        one.workspace,
        shown(one.created),
        str(_total(one)),
        shown(states),
        shown(one.description),
        shown(dict(one.tags)),
    ]


def _total(one: Experiment) -> int:
    return sum(one.runs.values())
