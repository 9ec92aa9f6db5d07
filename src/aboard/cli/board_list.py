# SPDX-License-Identifier: Apache-2.0
"""`aboard board list`: boards, in the columns that users of Determined know."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import typer

from aboard.api.boards import BoardInfo
from aboard.cli.board_list_options import BoardListOptions, Order
from aboard.cli.board_start import told
from aboard.cli.shown_values import plain, shown
from aboard.cli.table_text import print_csv, print_json, print_table
from aboard.client.client import Client
from aboard.model.names import experiment_name, run_name

_TITLES = ["Id", "Owner", "Description", "State", "Experiment Id", "Trial Ids", "Exit Status"]
_MOST_NUMBERS = 20


def list_boards(options: BoardListOptions) -> None:
    """Print one's own boards, or everybody's that one may see."""
    client = Client()
    boards = list(
        client.boards.iterate(
            everybody=options.everybody,
            workspaces=options.workspaces,
            states=options.states,
            sort_by=options.sort_by.column,
            descending=options.order is Order.DESCENDING,
        )
    )
    if options.as_json:
        url = client.url
        print_json({"items": [{**told(board), "url": f"{url}{board.uri}"} for board in boards], "next": None})
    elif options.quiet:
        for board in boards:
            typer.echo(board.id)
    elif options.as_csv:
        print_csv(_TITLES, map(_cells, boards))
    else:
        print_table(_TITLES, [[shown(cell) for cell in _cells(board)] for board in boards])


def _cells(board: BoardInfo) -> list[str]:
    return [
        board.id,
        board.owner,
        f"{plain(board.description) or 'TensorBoard'} ({board.name})",
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
