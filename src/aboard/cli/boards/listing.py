# SPDX-License-Identifier: Apache-2.0
"""`aboard board list`, `logs`, `open` and `config`: boards in the columns that users of Determined know."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from aboard.api.boards import BoardInfo
from aboard.api.wire import to_wire
from aboard.cli.boards.launch import Board, Browser, check_not_ended, make_board_document, show_board
from aboard.cli.output import escape_control, format_time, format_value, format_yaml, print_csv, print_json, print_table
from aboard.cli.parsing import Csv, Json
from aboard.client.client import Client
from aboard.errors import InvalidValue
from aboard.model.boards import BoardLine, LineLevel
from aboard.model.names import experiment_name, run_name
from aboard.model.states import UnitState
from aboard.model.times import parse_time


class SortKey(StrEnum):
    """What boards can be sorted by, under aboard's names and under Determined's."""

    ID = "id"
    NAME = "name"
    OWNER = "owner"
    USERNAME = "username"
    DESCRIPTION = "description"
    STATE = "state"
    EXIT_STATUS = "exit_status"
    EXIT_STATUS_OF_DETERMINED = "exitStatus"
    WORKSPACE = "workspace"
    WORKSPACE_NAME = "workspaceName"
    CREATED = "created"
    STARTED = "started"
    START_TIME = "startTime"
    LAST_USED = "last_used"
    ENDED = "ended"

    @property
    def column(self) -> str:
        """The name that the server knows."""
        return _COLUMNS.get(self, self.value)


_COLUMNS = {
    SortKey.USERNAME: "owner",
    SortKey.EXIT_STATUS_OF_DETERMINED: "exit_status",
    SortKey.WORKSPACE_NAME: "workspace",
    SortKey.START_TIME: "started",
}


class SortOrder(StrEnum):
    """Which end comes first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


_TITLES = ["Id", "Owner", "Description", "State", "Experiment Id", "Trial Ids", "Exit Status"]
_MOST_NUMBERS = 20


def list_boards(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print ids alone.")] = False,
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Other people's boards, too.")] = False,
    workspaces: Annotated[
        list[str] | None, typer.Option("--workspace-name", "--workspace", "-w", help="Only of these; repeatable.")
    ] = None,
    states: Annotated[
        list[UnitState] | None, typer.Option("--state", help="Only such; repeatable.", case_sensitive=False)
    ] = None,
    sort_by: Annotated[
        SortKey,
        typer.Option(
            "--sort-by",
            metavar="COLUMN",
            help="id, name, owner, description, state, exit_status, workspace, created, started, last_used or ended.",
        ),
    ] = SortKey.STARTED,
    order: Annotated[
        SortOrder, typer.Option("--order-by", "--order", help="Which end comes first.")
    ] = SortOrder.ASCENDING,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List boards, the one that was started first at the top."""
    client = Client()
    boards = list(
        client.boards.iterate(
            everybody=everybody,
            workspaces=workspaces or [],
            states=states or [],
            sort_by=sort_by.column,
            descending=order is SortOrder.DESCENDING,
        )
    )
    if as_json:
        url = client.url
        print_json(
            {"items": [{**make_board_document(board), "url": f"{url}{board.uri}"} for board in boards], "next": None}
        )
    elif quiet:
        for board in boards:
            typer.echo(board.id)
    elif as_csv:
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


def open_board(name: Board, *, browser: Browser = True) -> None:
    """Open a browser on a board that is there."""
    client = Client()
    board = client.boards.get(name)
    check_not_ended(board)
    show_board(client, board, open_browser=browser)


def print_config(name: Board, *, as_json: Json = False) -> None:
    """Print what makes a board, in YAML, as `start --config-file` takes it."""
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


def print_logs(
    name: Board,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the board has ended.")] = False,
    head: Annotated[int | None, typer.Option(min=0, max=1000, help="The first so many lines.")] = None,
    tail: Annotated[int | None, typer.Option(min=0, max=1000, help="The last so many lines.")] = None,
    before: Annotated[str | None, typer.Option("--timestamp-before", help="Only lines before, RFC 3339.")] = None,
    after: Annotated[str | None, typer.Option("--timestamp-after", help="Only lines after, RFC 3339.")] = None,
    level: Annotated[
        LineLevel, typer.Option("--level", help="This level and what matters more.", case_sensitive=False)
    ] = LineLevel.TRACE,
    as_json: Json = False,
) -> None:
    """Print what happened to a board: started, runs joined, stopped by whom."""
    before_moment, after_moment = _moment(before, "--timestamp-before"), _moment(after, "--timestamp-after")
    if head is not None and tail is not None:
        raise InvalidValue("--head and --tail are given, and only one of them can hold", hint="leave one away")
    if follow and (head is not None or before_moment is not None):
        raise InvalidValue("--follow has no end, which --head and --timestamp-before ask for", hint="leave one away")
    boards = Client().boards
    if follow:
        lines = boards.follow_logs(name, tail=tail, level=level)
        with contextlib.suppress(KeyboardInterrupt):
            _print((line for line in lines if after_moment is None or line.at > after_moment), as_json=as_json)
        return
    found = boards.logs(name, head=head, tail=tail, after=after_moment, before=before_moment, level=level)
    if as_json:
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
