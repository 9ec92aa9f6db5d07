# SPDX-License-Identifier: Apache-2.0
"""`aboard board list`, `logs`, `open` and `config`: boards in the columns that users of Determined know."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import typer

from aboard.api.boards import BoardInfo
from aboard.api.wire import to_wire
from aboard.cli.boards.launch import check_not_ended, make_board_document, show_board
from aboard.cli.output import escape_control, format_time, format_value, format_yaml, print_csv, print_json, print_table
from aboard.client.client import Client
from aboard.errors import InvalidValue
from aboard.model.boards import BoardLine, LineLevel
from aboard.model.names import experiment_name, run_name
from aboard.model.states import UnitState
from aboard.model.times import parse_time

_TITLES = ["Id", "Owner", "Description", "State", "Experiment Id", "Trial Ids", "Exit Status"]
_MOST_NUMBERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardListOptions:
    """The options of `aboard board list`."""

    everybody: bool = False
    workspaces: Sequence[str] = ()
    states: Sequence[UnitState] = ()
    sort_by: str = "started"
    descending: bool = False
    quiet: bool = False
    as_json: bool = False
    as_csv: bool = False


def list_boards(options: BoardListOptions) -> None:
    """Print one's own boards, or everybody's that one may see."""
    client = Client()
    boards = list(
        client.boards.iterate(
            everybody=options.everybody,
            workspaces=options.workspaces,
            states=options.states,
            sort_by=options.sort_by,
            descending=options.descending,
        )
    )
    if options.as_json:
        url = client.url
        print_json(
            {"items": [{**make_board_document(board), "url": f"{url}{board.uri}"} for board in boards], "next": None}
        )
    elif options.quiet:
        for board in boards:
            typer.echo(board.id)
    elif options.as_csv:
        print_csv(_TITLES, map(_cells, boards))
    else:
        print_table(_TITLES, [[format_value(cell) for cell in _cells(board)] for board in boards])


def _cells(board: BoardInfo) -> list[str]:
    return [
        board.id,
        board.owner,
        f"{escape_control(board.description) or 'TensorBoard'} ({board.name})",
        str(board.state).upper(),
        _numbers(board.experiments),
        _contents(board),
        board.exit_status,
    ]


def _contents(board: BoardInfo) -> str:
    """The runs that are named one by one, then patterns, ranges and folders, then the filter."""
    named = {*map(run_name, board.runs), *map(experiment_name, board.experiments)}
    others = [source for source in board.sources if source not in named]
    parts = [_numbers(board.runs), *others, f"where {board.where}" if board.where else ""]
    return ", ".join(filter(None, parts))


def _numbers(numbers: Sequence[int]) -> str:
    more = " …" if len(numbers) > _MOST_NUMBERS else ""
    return ", ".join(map(str, itertools.islice(numbers, _MOST_NUMBERS))) + more


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """The options of `aboard board logs`."""

    follow: bool = False
    head: int | None = None
    tail: int | None = None
    before: str | None = None
    after: str | None = None
    level: LineLevel = LineLevel.TRACE
    as_json: bool = False


def open_board(name: str, *, open_browser: bool) -> None:
    """Show a board that lives."""
    client = Client()
    board = client.boards.get(name)
    check_not_ended(board)
    show_board(client, board, open_browser=open_browser)


def print_config(name: str, *, as_json: bool) -> None:
    """Print what makes a board, as `--config-file` takes it."""
    config = make_config(Client().boards.get(name))
    if as_json:
        print_json(config)
    else:
        typer.echo(format_yaml(config), nl=False)


def make_config(board: BoardInfo) -> dict[str, object]:
    """What a board is made of; what is not set is left out."""
    made_of: dict[str, object] = {
        "description": board.description,
        "workspace": board.workspace,
        "sources": list(board.sources),
        "where": board.where,
        "template": board.template,
        "idle_timeout": board.idle_timeout,
        "max_runtime": board.max_runtime,
        **board.settings,
    }
    return {key: value for key, value in made_of.items() if value not in ("", None, [])}


def print_logs(name: str, options: LogOptions) -> None:
    """Print what happened to a board, oldest first."""
    before, after = _moment(options.before, "--timestamp-before"), _moment(options.after, "--timestamp-after")
    if options.head is not None and options.tail is not None:
        raise InvalidValue("--head and --tail are given, and only one of them can hold", hint="leave one away")
    if options.follow and (options.head is not None or before is not None):
        raise InvalidValue("--follow has no end, which --head and --timestamp-before ask for", hint="leave one away")
    boards = Client().boards
    if options.follow:
        lines = boards.follow_logs(name, tail=options.tail, level=options.level)
        with contextlib.suppress(KeyboardInterrupt):
            _print((line for line in lines if after is None or line.at > after), as_json=options.as_json)
        return
    found = boards.logs(name, head=options.head, tail=options.tail, after=after, before=before, level=options.level)
    if options.as_json:
        print_json({"items": found, "next": None})
    else:
        _print(found, as_json=False)


def _print(lines: Iterable[BoardLine], *, as_json: bool) -> None:
    for line in lines:
        if as_json:  # what has no end is no document: a line for each
            typer.echo(json.dumps(to_wire(line), ensure_ascii=False))
        else:
            typer.echo(f"{format_time(line.at)} {line.level.value:<8} {escape_control(line.text)}")


def _moment(text: str | None, option: str) -> datetime | None:
    """A moment that a person wrote; without an offset it is of their own clock, as the lines are shown."""
    if text is None:
        return None
    try:
        return parse_time(text, zone=datetime.now().astimezone().tzinfo or UTC)
    except InvalidValue as error:
        raise InvalidValue(f"{option}: {error.message}", hint=error.hint) from None
