# SPDX-License-Identifier: Apache-2.0
"""Command lines as users of Determined type them: several values behind one flag, and files for a container."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from aboard.errors import InvalidValue

_SEVERAL = frozenset({"--trial-ids", "-t"})
_NUMBERS = re.compile(r"[0-9]+(\s*-\s*[0-9]+)?", re.ASCII)


class StartCommand(TyperCommand):
    """A command that takes `--trial-ids 12 13 14`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the flag before each of its values."""
        return super().parse_args(ctx, one_flag_each(args))


def one_flag_each(arguments: Sequence[str]) -> list[str]:
    """`--trial-ids 12 13` as `--trial-ids 12 --trial-ids 13`; the next flag, or two dashes, end the values."""
    found: list[str] = []
    flag = ""
    is_first = False
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[place:]]
        if argument.startswith("-"):
            flag, is_first = (argument, True) if argument in _SEVERAL else ("", False)
            found.append(argument)
        elif flag and not is_first:
            found += [flag, argument]
        else:
            found.append(argument)
            is_first = False
    return found


def runs_of(trial_ids: Sequence[str]) -> list[str]:
    """Words of a selection for what stands behind `--trial-ids`: numbers are those of runs."""
    from aboard.model.selection_words import split_words  # every command loads this module with the parser

    return [f"run{word}" if _NUMBERS.fullmatch(word) else word for word in split_words(trial_ids)]


def refuse_files(context: Sequence[str], include: Sequence[str]) -> None:
    """Explain why files cannot be given along."""
    if context or include:
        flag, value = ("--context", context[0]) if context else ("--include", include[0])
        raise InvalidValue(
            f"{flag} {value!r} is for boards that are containers of their own",
            hint="a board in the server reads the runs where they are and needs no files; leave it away",
        )
