# SPDX-License-Identifier: Apache-2.0
"""The command line of the keeper's file. It prints one line of JSON, or the unit's output unchanged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from .control import look, output, remove, stop, usage
from .unit_folder import Document


def main() -> None:
    """Do what the first argument says; the second is the unit's folder, for `start` the one above it."""
    word, place, *rest = sys.argv[1:]
    folder = Path(os.path.expanduser(place))  # noqa: PTH111 - the home of this machine's user
    if word == "keep":
        from .keeper import Keeper  # each word loads what it needs: most are asked often, and through a login

        sys.exit(Keeper(folder, is_of_slurm=rest == ["slurm"]).keep())
    if word == "output":
        _pass_on(folder, int(rest[0]), rest[1] == "1")
        return
    sys.stdout.write(json.dumps(_answer(word, folder, rest)) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a keeper that was just started is not waited for


def _answer(word: str, folder: Path, rest: list[str]) -> Document:
    if word == "start":
        from .start import Refused, start

        try:
            return start(folder, Path(sys.argv[0]).absolute(), json.load(sys.stdin))
        except Refused as refused:
            return {"refused": refused.args[0], "hint": refused.args[1]}
    if not folder.is_dir():
        return {"unknown": True}
    if word == "look":
        return look(folder)
    if word == "again":
        from .start import start_again

        return {"again": start_again(folder, Path(sys.argv[0]).absolute())}
    if word == "usage":
        return usage(folder)
    if word == "stop":
        stop(folder, float(rest[0]) if rest else None)
    elif word == "remove":
        remove(folder)
    else:
        return {"refused": f"the keeper knows no word {word!r}", "hint": "this is a mistake in aboard"}
    return {}


def _pass_on(folder: Path, begin: int, follow: bool) -> None:
    for piece in output(folder, begin, follow):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
