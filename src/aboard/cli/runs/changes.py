# SPDX-License-Identifier: Apache-2.0
"""`aboard runs tag`, `note`, `rename`, `move`, `delete` and `restore`: changes of runs, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from aboard.api.runs import RetentionRequest, RunProblem, RunsChanged
from aboard.cli.arguments import confirm, parse_seconds
from aboard.cli.output import format_bytes, print_json
from aboard.cli.selections import select_runs
from aboard.client.client import Client
from aboard.errors import InvalidValue, UnknownName
from aboard.model.names import run_name
from aboard.model.runs import RunRecord
from aboard.model.selections import ExactName, NumberKind, NumberRange, parse_word

_DELETED = "deleted for good"
_MOVED_TO_TRASH = "moved to trash; `aboard runs restore {0}` restores it"


def tag_runs(
    names: Sequence[str], tags: Sequence[str], removed: Sequence[str], where: str | None, *, as_json: bool
) -> int:
    """Give and take tags."""
    if not tags and not removed:
        raise InvalidValue("no tag is named", hint="write --tag good, --tag data=v3 or --remove bad")
    given = dict(_tag(text) for text in tags)
    client = Client()
    return _tell(client.runs.tag(_named(client, names, where), given, remove=removed), "tagged", as_json=as_json)


def note_runs(names: Sequence[str], text: str, *, as_json: bool) -> int:
    """Write a note."""
    client = Client()
    return _tell(client.runs.note(_named(client, names), text), "noted", as_json=as_json)


def rename_run(name: str, new_name: str, *, as_json: bool) -> int:
    """Give a run another name."""
    run = Client().runs.rename(name, new_name)
    return _tell(RunsChanged(items=(run,)), "renamed", as_json=as_json)


def move_runs(
    names: Sequence[str], workspace: str | None, experiment: str | None, where: str | None, *, as_json: bool
) -> int:
    """Move runs to another workspace or experiment."""
    if workspace is None and experiment is None:
        raise InvalidValue("nowhere to move to is named", hint="give --workspace, --experiment or both")
    client = Client()
    target = _target_experiment(client, experiment) if experiment else experiment
    changed = client.runs.move(_named(client, names, where), workspace=workspace, experiment=target)
    return _tell(changed, "moved", as_json=as_json)


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


def delete_runs(names: Sequence[str], where: str | None, *, files: bool, in_bin: bool, yes: bool, as_json: bool) -> int:
    """Put runs into the bin, or delete them with all their files."""
    client = Client()
    found = _named(client, names, where, in_bin=in_bin)
    if files:
        what = f"{len(found)} runs" if len(found) > 1 else found[0]
        confirm(f"Delete {what} with all files in the store, for good?", yes=yes)
    elif len(found) > 1:
        confirm(f"Move {len(found)} runs to trash?", yes=yes)
    changed = client.runs.delete(found, files=files)
    return _tell(changed, _DELETED if files else _MOVED_TO_TRASH, as_json=as_json)


def restore_runs(names: Sequence[str], where: str | None, *, as_json: bool) -> int:
    """Take runs out of the bin."""
    client = Client()
    return _tell(client.runs.restore(_named(client, names, where, in_bin=True)), "restored", as_json=as_json)


def retain_runs(
    *,
    where: str | None,
    workspaces: Sequence[str],
    older_than: str | None,
    keep: int,
    files: bool,
    in_bin: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete what is no longer to be kept, after telling what that is."""
    if not where and older_than is None and not keep:
        raise InvalidValue("nothing says which runs may go", hint="give --older-than 30d, --keep 5 or --where")
    asked = RetentionRequest(
        where=where or "",
        workspaces=tuple(workspaces),
        older_than_seconds=None if older_than is None else parse_seconds(older_than, "--older-than"),
        keep_newest=keep,
        files=files,
        in_bin=in_bin,
    )
    client = Client()
    plan = client.runs.retain(asked)
    if as_json and dry_run:
        print_json(plan)
        return 0
    for run in plan.items:
        typer.echo(f"{_title(run)}  {str(run.status).upper()}  {format_bytes(run.bytes or 0)}", err=as_json)
    summary = f"{len(plan.items)} run{'s' * (len(plan.items) != 1)}, {format_bytes(plan.bytes)}"
    if dry_run or not plan.items:
        typer.echo(f"{summary} would go; nothing was done." if plan.items else "No run would go.", err=True)
        return 0
    how = "Delete these with all their files, for good" if files else "Move these to trash"
    confirm(f"{how} ({summary})?", yes=yes)
    names = tuple(run_name(run.number) if run.number else run.uid for run in plan.items)
    changed = client.runs.delete(names, files=files)  # just those that were told
    return _tell(changed, _DELETED if files else _MOVED_TO_TRASH, as_json=as_json)


def _named(client: Client, names: Sequence[str], where: str | None = None, *, in_bin: bool = False) -> list[str]:
    return [run_name(run.number) for run in select_runs(client, names, where, in_bin=in_bin, exact=True)]


def _tell(changed: RunsChanged, word: str, *, as_json: bool) -> int:
    if as_json:
        print_json(changed)
    else:
        for run in changed.items:
            typer.echo(f"{_title(run)}: {word.format(_number(run))}")
        for problem in changed.problems:
            _complain(problem)
    return 1 if changed.problems else 0


def _complain(problem: RunProblem) -> None:
    typer.echo(f"error: {problem.run}: {problem.message}", err=True)


def _title(run: RunRecord) -> str:
    number = _number(run)
    return number if run.name in {"", number} else f"{number} ({run.name})"


def _number(run: RunRecord) -> str:
    return run_name(run.number) if run.number else run.uid


def _tag(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name.strip():
        raise InvalidValue(f"--tag {text!r} has no name", hint="write --tag good or --tag data=v3")
    return name.strip(), value
