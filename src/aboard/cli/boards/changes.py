# SPDX-License-Identifier: Apache-2.0
"""`aboard board kill`, `stop`, `delete`, `start-again` and `change`: what is done to boards that are there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from aboard.api.boards import BoardInfo
from aboard.cli.arguments import confirm
from aboard.cli.boards.launch import Board, Boards, Force
from aboard.cli.output import print_json, say
from aboard.cli.parsing import Json, Yes
from aboard.client.boards import Span
from aboard.client.client import Client
from aboard.errors import AboardError, InvalidValue
from aboard.model.selections import split_words


def kill(names: Boards, *, force: Force = False, as_json: Json = False) -> None:
    """End boards at once. They can be started again."""
    _end_each("Killed", names, Client().boards.kill, force=force, as_json=as_json)


def stop(names: Boards, *, force: Force = False, as_json: Json = False) -> None:
    """Stop boards. They can be started again."""
    _end_each("Stopped", names, Client().boards.stop, force=force, as_json=as_json)


def start_again(names: Boards, *, force: Force = False, as_json: Json = False) -> None:
    """Start boards that have ended, with the ids that they had."""
    _for_each("Started", names, Client().boards.start, force=force, as_json=as_json)


def delete(
    names: Boards,
    *,
    force: Force = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Forget boards and their logs; runs and their files stay."""
    boards = Client().boards
    several = split_words(names)
    # What is asked about is what will go: a beginning of an id may mean another board in a moment.
    found = [] if force else [boards.get(name) for name in several]
    called = ", ".join(board.name for board in found) or ", ".join(several)
    if several:
        confirm(f"Forget {called}? Runs and their files stay.", yes=yes)
    meant = several if force else [board.id for board in found]
    _for_each("Deleted", meant, boards.delete, force=force, as_json=as_json)


def change(
    name: Board,
    *,
    description: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    template: Annotated[str | None, typer.Option(help="Names of the runs on it; '' for those of the server.")] = None,
    idle_timeout: Annotated[str | None, typer.Option(help="Such as 30m or 2h; 0 for never.")] = None,
    max_runtime: Annotated[str | None, typer.Option(help="As long after its start; 0 for ever.")] = None,
    as_json: Json = False,
) -> None:
    """Describe a board otherwise, or give it another template or lifetime."""
    if description is None and template is None and idle_timeout is None and max_runtime is None:
        hint = "give --description, --template, --idle-timeout or --max-runtime; a time of 0 takes a limit away"
        raise InvalidValue("nothing is named that should change", hint=hint)
    changed = Client().boards.change(
        name,
        description=description,
        template=template,
        idle_timeout=_limit(idle_timeout),
        max_runtime=_limit(max_runtime),
    )
    if as_json:
        print_json(changed)
        return
    say(f"Changed TensorBoard ({changed.name}) (id: {changed.id}).", sys.stderr)


def _end_each(verb: str, names: Sequence[str], end: Callable[[str], BoardInfo], *, force: bool, as_json: bool) -> None:
    """As `_for_each`, and report boards that had already ended."""
    boards = Client().boards
    ended: set[str] = set()

    def end_if_alive(name: str) -> BoardInfo:
        board = boards.get(name)
        if not board.state.is_ended:
            return end(board.id)
        ended.add(board.id)
        return board

    _for_each(verb, names, end_if_alive, force=force, as_json=as_json, was_so=lambda board: board.id in ended)


def _for_each(
    verb: str,
    names: Sequence[str],
    change: Callable[[str], BoardInfo],
    *,
    force: bool,
    as_json: bool,
    was_so: Callable[[BoardInfo], bool] = lambda _: False,
) -> None:
    """Change one after the other. Stop at the first error, unless with `force`, and list what was skipped."""
    several = split_words(names)
    if not several:
        raise InvalidValue("no board is named", hint="`aboard board list` shows what there is")
    changed: list[BoardInfo] = []
    failures: list[dict[str, str]] = []
    has_stopped = False
    for place, name in enumerate(several):
        try:
            changed.append(board := change(name))
        except AboardError as error:
            failures.append({"board": name, "error": error.message})
            if force:
                say(f"Skipping {name}: {error.message}", sys.stderr)
                continue
            say(f"error: {error}", sys.stderr)
            for left in several[place + 1 :]:
                say(f"Left as it is: {left}", sys.stderr)
            has_stopped = True
            break
        if not as_json and was_so(board):
            how = f": {board.reason}" if board.reason else ""
            typer.echo(f"TensorBoard ({board.name}) (id: {board.id}) has already ended{how}.")
        elif not as_json:
            typer.echo(f"{verb} TensorBoard ({board.name}) (id: {board.id}).")
    if as_json:
        print_json({"items": changed, "next": None, "failed": failures})
    if has_stopped:
        raise typer.Exit(1)


def _limit(text: str | None) -> Span | None:
    return 0 if text is not None and text.strip() == "0" else text
