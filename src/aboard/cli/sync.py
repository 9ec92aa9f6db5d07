# SPDX-License-Identifier: Apache-2.0
"""`aboard sync [SPOOL…]`: finishes shipping."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import typer

from aboard.config.settings import load_settings
from aboard.run.supervisor.sync import Synced, spool_folders
from aboard.run.supervisor.sync import sync as ship
from aboard.run.supervisor.talk import Talk, TalkingHandler


def sync(folders: Sequence[str], *, timeout: float, clean: bool, as_json: bool) -> int:
    """Ship what is left, say what became of each run; 1 when something is left."""
    logging.getLogger("aboard").addHandler(TalkingHandler(Talk(), logging.WARNING))
    logging.getLogger("aboard").propagate = False
    chosen = [Path(folder).expanduser().absolute() for folder in folders] or spool_folders(load_settings().home)
    done: list[Synced] = []
    for synced in ship(chosen, timeout=timeout, clean=clean):
        done.append(synced)
        if not as_json:
            typer.echo(f"{synced.name or synced.folder}: {synced.state.upper()}  {synced.text}")
    if as_json:
        typer.echo(json.dumps({"items": [_document(one) for one in done], "next": None}, ensure_ascii=False))
    elif not done:
        typer.echo("Nothing is left to be shipped.", err=True)
    return 0 if all(one.is_well for one in done) else 1


def _document(synced: Synced) -> dict[str, object]:
    return {
        "uid": synced.uid,
        "name": synced.name,
        "folder": str(synced.folder),
        "state": synced.state,
        "text": synced.text,
        "files_left": synced.files_left,
        "bytes_left": synced.bytes_left,
    }
