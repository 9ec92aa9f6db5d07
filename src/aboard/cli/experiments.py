# SPDX-License-Identifier: Apache-2.0
"""`aboard experiments …`: groups of runs."""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.arguments import confirm, parse_tag
from aboard.cli.output import MAX_WIDTH, format_value, print_csv, print_json, print_pairs, print_table
from aboard.cli.parsing import Csv, Json, ListingGroup, Yes
from aboard.cli.runs.listing import ListOptions, list_runs
from aboard.client.client import Client
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue
from aboard.foundation.text import count
from aboard.model.groups import ExperimentRecord
from aboard.model.names import experiment_name
from aboard.model.states import RunState

app = typer.Typer(cls=ListingGroup, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="exp7, job7, 7, a name or workspace/name.")]
Description = Annotated[str | None, typer.Option(help="What it is about.")]
_TITLES = ["experiment", "name", "workspace", "created", "runs", "states", "description", "tags"]


@app.command("list")
def list_experiments(
    *,
    workspaces: Annotated[list[str] | None, typer.Option("--workspace", "-w", help="Only of these.")] = None,
    last: Annotated[int, typer.Option("--last", "-n", min=1, max=1000, help="How many.")] = 50,
    in_bin: Annotated[bool, typer.Option("--bin", help="Those in the bin.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List experiments, newest first, with how many runs are in which state."""
    page = Client().experiments.list(workspaces=tuple(workspaces or []), limit=last, in_bin=in_bin)
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
        typer.echo(f"{count(len(page.items), 'experiment')}{more}", err=True)


@app.command()
def show(name: Name, *, as_json: Json = False) -> None:
    """Print an experiment and its runs."""
    experiment = Client().experiments.get(name)
    if as_json:
        print_json(experiment)
        return
    print_pairs(dict(zip(_TITLES, _row(experiment), strict=True)))
    typer.echo()
    list_runs(ListOptions(experiment=experiment_name(experiment.number), in_bin=experiment.deleted is not None))


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="name, or workspace/name.")],
    *,
    description: Description = None,
    as_json: Json = False,
) -> None:
    """Make an experiment."""
    workspace, slash, own = name.rpartition("/")
    named = workspace if slash else load_settings().workspace
    _report(Client().experiments.add(named, own, description=description or ""), "made", as_json=as_json)


@app.command()
def change(
    name: Name,
    *,
    new_name: Annotated[str | None, typer.Option("--name", help="A new name; its number stays.")] = None,
    description: Description = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    removed: Annotated[list[str] | None, typer.Option("--remove", help="A tag to take away; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Rename an experiment, describe it, tag it."""
    client = Client()
    wanted: dict[str, str] | None = None
    if tags or removed:
        found = client.experiments.get(name, exact=True)
        kept = {key: text for key, text in found.tags.items() if key not in set(removed or [])}
        wanted = {**kept, **dict(map(parse_tag, tags or []))}
    elif new_name is None and description is None:
        raise InvalidValue("nothing is to be changed", hint="give --name, --description, --tag or --remove")
    changed = client.experiments.change(name, name=new_name, description=description, tags=wanted)
    _report(changed, "changed", as_json=as_json)


@app.command()
def rename(name: Name, new_name: Annotated[str, typer.Argument()], *, as_json: Json = False) -> None:
    """Give an experiment another name."""
    change(name, new_name=new_name, as_json=as_json)


@app.command()
def delete(name: Name, *, yes: Yes = False, as_json: Json = False) -> None:
    """Put an experiment into the bin, with its runs."""
    client = Client()
    found = client.experiments.get(name, exact=True)
    number = experiment_name(found.number)
    confirm(f"Move {number} ({found.name}) and its {count(_total(found), 'run')} to trash?", yes=yes)
    word = f"moved to trash; `aboard experiments restore {number}` restores it"
    _report(client.experiments.delete(number), word, as_json=as_json)


@app.command()
def restore(name: Name, *, as_json: Json = False) -> None:
    """Take an experiment out of the bin, with the runs that went with it."""
    _report(Client().experiments.restore(name), "restored", as_json=as_json)


def _row(one: ExperimentRecord) -> list[str]:
    states = ", ".join(f"{runs} {str(state).upper()}" for state, runs in one.runs.items() if runs)
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


def _report(one: ExperimentRecord, word: str, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        typer.echo(f"{experiment_name(one.number)} ({one.workspace}/{one.name}): {word}")
