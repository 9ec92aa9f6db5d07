# SPDX-License-Identifier: Apache-2.0
"""`aboard runs tag`, `note`, `rename`, `move`, `delete`, `restore` and `retain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from aboard.api.runs import RetentionRequest, RunsChanged
from aboard.cli.arguments import confirm, parse_seconds, parse_tag
from aboard.cli.output import format_bytes, print_json
from aboard.cli.parsing import Json, RunsInTrash, RunWords, Where, Workspaces, Yes
from aboard.cli.selections import select_runs
from aboard.client.client import Client
from aboard.errors import InvalidValue, UnknownName
from aboard.model.names import run_name
from aboard.model.runs import RunRecord
from aboard.model.selections import ExactName, NumberKind, NumberRange, parse_word

_DELETED = "deleted for good"
_MOVED_TO_TRASH = "moved to trash; `aboard runs restore {0}` restores it"


def tag(
    names: RunWords = None,
    *,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    removed: Annotated[list[str] | None, typer.Option("--remove", help="NAME; repeatable.")] = None,
    where: Where = None,
    as_json: Json = False,
) -> None:
    """Give tags to runs, and take them away."""
    if not tags and not removed:
        raise InvalidValue("no tag is named", hint="write --tag good, --tag data=v3 or --remove bad")
    given = dict(map(parse_tag, tags or []))
    client = Client()
    _report(client.runs.tag(_named(client, names, where), given, remove=removed or []), "tagged", as_json=as_json)


def note(
    names: Annotated[str, typer.Argument(metavar="RUNS", help="One, or several with commas.")],
    text: Annotated[str, typer.Argument()],
    *,
    as_json: Json = False,
) -> None:
    """Write a note about runs."""
    client = Client()
    _report(client.runs.note(_named(client, [names]), text), "noted", as_json=as_json)


def rename(
    run: Annotated[str, typer.Argument()], name: Annotated[str, typer.Argument()], *, as_json: Json = False
) -> None:
    """Give a run another name; its number stays."""
    renamed = Client().runs.rename(run, name)
    _report(RunsChanged(items=(renamed,)), "renamed", as_json=as_json)


def move(
    names: RunWords = None,
    *,
    workspace: Annotated[str | None, typer.Option("--workspace", "-w")] = None,
    experiment: Annotated[
        str | None, typer.Option("--experiment", "-e", help="Made when it is not there; '' takes them out of theirs.")
    ] = None,
    where: Where = None,
    as_json: Json = False,
) -> None:
    """Move runs to another workspace or experiment."""
    if workspace is None and experiment is None:
        raise InvalidValue("nowhere to move to is named", hint="give --workspace, --experiment or both")
    client = Client()
    target = _target_experiment(client, experiment) if experiment else experiment
    changed = client.runs.move(_named(client, names, where), workspace=workspace, experiment=target)
    _report(changed, "moved", as_json=as_json)


def delete(
    names: RunWords = None,
    *,
    where: Where = None,
    files: Annotated[bool, typer.Option("--files", help="With all files in the store, for good.")] = False,
    in_bin: RunsInTrash = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put runs into the bin, or with --files delete them for good."""
    client = Client()
    found = _named(client, names, where, in_bin=in_bin)
    if files:
        what = f"{len(found)} runs" if len(found) > 1 else found[0]
        confirm(f"Delete {what} with all files in the store, for good?", yes=yes)
    elif len(found) > 1:
        confirm(f"Move {len(found)} runs to trash?", yes=yes)
    changed = client.runs.delete(found, files=files)
    _report(changed, _DELETED if files else _MOVED_TO_TRASH, as_json=as_json)


def restore(names: RunWords = None, *, where: Where = None, as_json: Json = False) -> None:
    """Take runs out of the bin."""
    client = Client()
    _report(client.runs.restore(_named(client, names, where, in_bin=True)), "restored", as_json=as_json)


def retain(
    *,
    where: Where = None,
    workspaces: Workspaces = None,
    older_than: Annotated[str | None, typer.Option(help="30d, 12h, 2w since they ended.")] = None,
    keep: Annotated[int, typer.Option(min=0, help="So many stay in each experiment, the newest.")] = 0,
    files: Annotated[bool, typer.Option("--files", help="With all files in the store, for good.")] = False,
    in_bin: RunsInTrash = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell which would go.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete runs that are no longer to be kept; those that are not over always stay."""
    if not where and older_than is None and not keep:
        raise InvalidValue("nothing says which runs may go", hint="give --older-than 30d, --keep 5 or --where")
    asked = RetentionRequest(
        where=where or "",
        workspaces=tuple(workspaces or []),
        older_than_seconds=None if older_than is None else parse_seconds(older_than, "--older-than"),
        keep_newest=keep,
        files=files,
        in_bin=in_bin,
    )
    client = Client()
    plan = client.runs.retain(asked)
    if as_json and dry_run:
        print_json(plan)
        return
    for run in plan.items:
        typer.echo(f"{_title(run)}  {str(run.status).upper()}  {format_bytes(run.bytes or 0)}", err=as_json)
    summary = f"{len(plan.items)} run{'s' * (len(plan.items) != 1)}, {format_bytes(plan.bytes)}"
    if dry_run or not plan.items:
        typer.echo(f"{summary} would go; nothing was done." if plan.items else "No run would go.", err=True)
        return
    how = "Delete these with all their files, for good" if files else "Move these to trash"
    confirm(f"{how} ({summary})?", yes=yes)
    names = tuple(run_name(run.number) if run.number else run.uid for run in plan.items)
    changed = client.runs.delete(names, files=files)  # just those that were told
    _report(changed, _DELETED if files else _MOVED_TO_TRASH, as_json=as_json)


def _target_experiment(client: Client, text: str) -> str:
    """The name of the experiment that is meant; `exp7` is the one with that number, `name:exp7` is a name."""
    try:
        entry = parse_word(text, numbers=NumberKind.EXPERIMENT)
    except InvalidValue:
        return text
    if isinstance(entry, ExactName) and not entry.workspace:
        return entry.name
    if not isinstance(entry, NumberRange) or not entry.is_one or entry.kind is not NumberKind.EXPERIMENT:
        return text
    try:
        return client.experiments.get(text).name
    except UnknownName as error:
        hint = f"{error.hint}; write name:{text} for a new experiment of that name"
        raise UnknownName(error.message, hint=hint) from None


def _named(client: Client, names: Sequence[str] | None, where: str | None = None, *, in_bin: bool = False) -> list[str]:
    return [run_name(run.number) for run in select_runs(client, names or [], where, in_bin=in_bin, exact=True)]


def _report(changed: RunsChanged, word: str, *, as_json: bool) -> None:
    """Print what became of each run; the command fails when one could not be changed."""
    if as_json:
        print_json(changed)
    else:
        for run in changed.items:
            typer.echo(f"{_title(run)}: {word.format(_number(run))}")
        for problem in changed.problems:
            typer.echo(f"error: {problem.run}: {problem.message}", err=True)
    if changed.problems:
        raise typer.Exit(1)


def _title(run: RunRecord) -> str:
    number = _number(run)
    return number if run.name in {"", number} else f"{number} ({run.name})"


def _number(run: RunRecord) -> str:
    return run_name(run.number) if run.number else run.uid
