# SPDX-License-Identifier: Apache-2.0
"""Experiments and workspaces: list, show, create, change, delete and restore them."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from aboard.cli.arguments import confirm
from aboard.cli.output import MAX_WIDTH, format_bytes, format_value, print_csv, print_json, print_pairs, print_table
from aboard.cli.runs.listing import ListOptions, list_runs
from aboard.client.client import Client
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue
from aboard.model.groups import ExperimentRecord, Workspace
from aboard.model.names import experiment_name
from aboard.model.states import RunState

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
                format_value(one.created),
                str(one.experiments),
                str(one.runs),
                format_bytes(one.bytes),
                format_value(one.description),
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
            "created": format_value(workspace.created),
            "description": format_value(workspace.description),
            "experiments": str(workspace.experiments),
            "runs": str(workspace.runs),
            "size": format_bytes(workspace.bytes),
            **({"deleted": format_value(workspace.deleted)} if workspace.deleted else {}),
        }
    )
    typer.echo()
    in_bin = workspace.deleted is not None
    list_experiments([workspace.name], 50, in_bin=in_bin, as_json=False, as_csv=False)


def _row(one: ExperimentRecord) -> list[str]:
    states = ", ".join(f"{count} {str(state).upper()}" for state, count in one.runs.items() if count)
    return [
        experiment_name(one.number),
        one.name,
        one.workspace,
        format_value(one.created),
        str(_total(one)),
        format_value(states),
        format_value(one.description),
        format_value(dict(one.tags)),
    ]


def _total(one: ExperimentRecord) -> int:
    return sum(one.runs.values())


def add_experiment(name: str, description: str, *, as_json: bool) -> None:
    """Make an experiment, in the usual workspace unless one is named."""
    workspace, slash, own = name.rpartition("/")
    made = Client().experiments.add(workspace if slash else load_settings().workspace, own, description=description)
    _tell_experiment(made, "made", as_json=as_json)


def change_experiment(
    name: str,
    new_name: str | None,
    description: str | None,
    tags: Sequence[str],
    removed: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Change what is named."""
    client = Client()
    wanted: dict[str, str] | None = None
    if tags or removed:
        found = client.experiments.get(name, exact=True)
        kept = {key: text for key, text in found.tags.items() if key not in set(removed)}
        wanted = {**kept, **dict(_tag(text) for text in tags)}
    elif new_name is None and description is None:
        raise InvalidValue("nothing is to be changed", hint="give --name, --description, --tag or --remove")
    changed = client.experiments.change(name, name=new_name, description=description, tags=wanted)
    _tell_experiment(changed, "changed", as_json=as_json)


def delete_experiment(name: str, *, yes: bool, as_json: bool) -> int:
    """Put an experiment into the bin."""
    client = Client()
    found = client.experiments.get(name, exact=True)
    number, count = experiment_name(found.number), sum(found.runs.values())
    confirm(f"Move {number} ({found.name}) and its {_count(count, 'run')} to trash?", yes=yes)
    word = f"moved to trash; `aboard experiments restore {number}` restores it"
    _tell_experiment(client.experiments.delete(number), word, as_json=as_json)
    return 0


def restore_experiment(name: str, *, as_json: bool) -> None:
    """Take an experiment out of the bin."""
    _tell_experiment(Client().experiments.restore(name), "restored", as_json=as_json)


def add_workspace(name: str, description: str, *, as_json: bool) -> None:
    """Make a workspace."""
    _tell_workspace(Client().workspaces.add(name, description=description), "made", as_json=as_json)


def change_workspace(name: str, new_name: str | None, description: str | None, *, as_json: bool) -> None:
    """Change what is named."""
    if new_name is None and description is None:
        raise InvalidValue("nothing is to be changed", hint="give --name or --description")
    changed = Client().workspaces.change(name, new_name=new_name, description=description)
    _tell_workspace(changed, "changed", as_json=as_json)


def delete_workspace(name: str, *, yes: bool, as_json: bool) -> int:
    """Put a workspace into the bin."""
    client = Client()
    found = client.workspaces.get(name)
    content = f"{_count(found.experiments, 'experiment')} and {_count(found.runs, 'run')}"
    confirm(f"Move the workspace {found.name} with {content} to trash?", yes=yes)
    word = f"moved to trash; `aboard workspaces restore {found.name}` restores it"
    _tell_workspace(client.workspaces.delete(found.name), word, as_json=as_json)
    return 0


def restore_workspace(name: str, *, as_json: bool) -> None:
    """Take a workspace out of the bin."""
    _tell_workspace(Client().workspaces.restore(name), "restored", as_json=as_json)


def _tell_experiment(one: ExperimentRecord, word: str, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        typer.echo(f"{experiment_name(one.number)} ({one.workspace}/{one.name}): {word}")


def _tell_workspace(one: Workspace, word: str, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        typer.echo(f"{one.name}: {word}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _tag(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name.strip():
        raise InvalidValue(f"--tag {text!r} has no name", hint="write --tag good or --tag data=v3")
    return name.strip(), value
