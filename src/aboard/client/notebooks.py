# SPDX-License-Identifier: Apache-2.0
"""Boards in notebooks: as the value of a cell, and by `%aboard SELECTION`. IPython is loaded by who uses it alone."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from aboard.client.board import FRAME_HEIGHT, Board, BoardFrame
from aboard.errors import AboardError, InvalidValue
from aboard.model.selections import is_folder, split_words


class _Line(argparse.ArgumentParser):
    """Tells mistakes as everything else does, instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise InvalidValue(message, hint=self.format_usage().strip())


def register(shell: Any) -> None:
    """Have an IPython know `%aboard`."""

    def aboard(line: str) -> BoardFrame:
        try:
            return parse_line(line)
        except AboardError as error:
            from IPython.core.error import UsageError

            raise UsageError(str(error)) from None

    aboard.__doc__ = f"Show a board over runs, experiments and folders.\n\n{_parser().format_help()}"
    shell.register_magic_function(aboard, "line", "aboard")


def parse_line(line: str) -> BoardFrame:
    """The board that a line of a notebook asks for."""
    try:
        given = _parser().parse_intermixed_args(shlex.split(line))
    except ValueError as error:
        if isinstance(error, AboardError):
            raise
        raise InvalidValue(f"%aboard {line} cannot be understood: {error}") from None
    words: Sequence[str] = given.words
    if not words and given.where is None and not given.workspace:
        raise InvalidValue("nothing is named that a board could show", hint="write %aboard run343, exp7 or ./logs")
    board = Board.create(
        sources=[_word(word) for word in split_words(words)],
        where=given.where,
        workspace=given.workspace,
        template=given.template,
    )
    return BoardFrame(board, given.height)


def _word(word: str) -> str:
    """A folder that is there is meant, though it may not look like one."""
    return word if is_folder(word) or not Path(word).exists() else f"./{word}"


def _parser() -> _Line:
    parser = _Line("%aboard", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*", metavar="SELECTION", help="run343, exp7, ws1/base*, ./folder, s3://bucket")
    parser.add_argument("--where", help="only runs for which a filter holds")
    parser.add_argument("--workspace", default="", help="for names without a workspace; alone, all its runs")
    parser.add_argument("--template", default="", help="names of the runs on the board")
    parser.add_argument("--height", type=int, default=FRAME_HEIGHT, help="of the frame, in pixels")
    return parser
