# SPDX-License-Identifier: Apache-2.0
"""Experiments and workspaces made, renamed, deleted and restored."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from aboard.cli.confirming import confirm
from aboard.cli.table_text import print_json
from aboard.client.client import Client
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue
from aboard.model.experiment import Experiment
from aboard.model.names import experiment_name
from aboard.model.workspace import Workspace


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


def _tell_experiment(one: Experiment, word: str, *, as_json: bool) -> None:
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
