# SPDX-License-Identifier: Apache-2.0
"""`%aboard` in notebooks: aboard's page over folders, and boards over runs of a server.

This module does not load IPython; it is there when the magic is used.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from aboard.client.board import Board, BoardFrame
from aboard.client.notebook_views import RunsFrame
from aboard.errors import AboardError, InvalidValue
from aboard.model.selections import is_folder, split_words


class _Line(argparse.ArgumentParser):
    """Tells mistakes as everything else does, instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        # While it parses, argparse keeps its own usage here, in which it takes `%aboard` for a format.
        raise InvalidValue(message, hint=_parser().format_usage().strip())


def register(shell: Any) -> None:
    """Have an IPython know `%aboard`."""

    def aboard(line: str) -> BoardFrame | RunsFrame:
        try:
            return parse_line(line)
        except AboardError as error:
            from IPython.core.error import UsageError

            raise UsageError(str(error)) from None

    aboard.__doc__ = f"Show folders of event files, or a board over runs and experiments.\n\n{_parser().format_help()}"
    shell.register_magic_function(aboard, "line", "aboard")


def parse_line(line: str) -> BoardFrame | RunsFrame:
    """What the arguments of `%aboard` name: the page over folders, or a board over runs of a server."""
    try:
        given = _parser().parse_intermixed_args(shlex.split(line))
    except ValueError as error:
        if isinstance(error, AboardError):
            raise
        raise InvalidValue(f"%aboard {line} cannot be understood: {error}") from None
    words: Sequence[str] = given.words
    if not words and given.where is None and not given.workspace:
        raise InvalidValue("nothing is named that could be shown", hint="write %aboard run343, exp7 or ./logs")
    size = {} if given.height is None else {"height": given.height}
    words = [_word(word) for word in split_words(words)]
    if words and all(map(_is_folder, words)) and given.where is None and not given.workspace and not given.template:
        return RunsFrame([_expanded(word) for word in words], metrics=split_words([given.metrics]), **size)
    if given.metrics:
        raise InvalidValue("--metrics is for folders and buckets.", hint="Filter tags on the board itself.")
    board = Board.create(
        sources=words,
        where=given.where,
        workspace=given.workspace,
        template=given.template,
    )
    return BoardFrame(board, **size)


def _word(word: str) -> str:
    """A folder that is there is meant, though it may not look like one."""
    return word if is_folder(word) or not Path(word).exists() else f"./{word}"


def _is_folder(word: str) -> bool:
    name, equals, path = word.partition("=")
    return is_folder(word) or bool(equals and "/" not in name and (is_folder(path) or Path(path).exists()))


def _expanded(word: str) -> str:
    """The same folder by the same word; patterns, URIs and name=FOLDER stay as they are."""
    path = Path(os.path.expanduser(word))  # noqa: PTH111 - Path fails where there is no such user
    return str(path.absolute()) if path.exists() else word


def _parser() -> _Line:
    parser = _Line("%aboard", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*", metavar="SELECTION", help="run343, exp7, ws1/base*, ./folder, s3://bucket")
    parser.add_argument("--where", help="only runs for which a filter holds")
    parser.add_argument("--workspace", default="", help="for names without a workspace; alone, all its runs")
    parser.add_argument("--template", default="", help="names of the runs on the board")
    parser.add_argument("--height", type=int, help="of the frame, in pixels")
    parser.add_argument("--metrics", default="", metavar="NAME,NAME", help="of folders: only these, as in loss,val/*")
    return parser
