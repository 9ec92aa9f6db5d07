# SPDX-License-Identifier: Apache-2.0
"""`aboard sync [SPOOL…]` finishes shipping; `aboard sync FOLDER STORE` takes a folder of event files over."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from aboard.cli.take_over import TakeOverOptions, is_meant, taken_over
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue
from aboard.run.supervisor.console import Talk, TalkingHandler
from aboard.run.supervisor.sync import Synced, spool_folders
from aboard.run.supervisor.sync import sync as ship


def sync(folders: Sequence[str], *, timeout: float, clean: bool, as_json: bool, options: TakeOverOptions) -> int:
    """Ship what is left, say what became of each run; 1 when something is left."""
    listen()
    if is_meant(folders):
        return told(taken_over(folders[0], folders[1], options), as_json=as_json)
    if options != TakeOverOptions(timeout=timeout):
        raise InvalidValue(
            "--workspace, --experiment and --depth are for folders of event files that become runs of a store.",
            hint="aboard sync FOLDER STORE",
        )
    chosen = [Path(folder).expanduser().absolute() for folder in folders] or spool_folders(load_settings().home)
    return told(ship(chosen, timeout=timeout, clean=clean), as_json=as_json)


def listen() -> None:
    """Show what goes wrong meanwhile."""
    logging.getLogger("aboard").addHandler(TalkingHandler(Talk(), logging.WARNING))
    logging.getLogger("aboard").propagate = False


def told(items: Iterable[Synced], *, as_json: bool) -> int:
    """Say what became of each run as it comes; 1 when something is left."""
    done: list[Synced] = []
    for synced in items:
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
