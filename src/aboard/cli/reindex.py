# SPDX-License-Identifier: Apache-2.0
"""`aboard reindex STORE`: has the catalog rebuilt from a store."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from aboard.api.server import ReindexState
from aboard.api.wire import to_wire
from aboard.cli.progress_line import progress_line
from aboard.client.client import Client

_MOST_TOLD = 20


def reindex(store: str, *, as_json: bool) -> int:
    """Reindex and tell how it went; 1 when it could not be done or something could not be read."""
    latest: list[ReindexState] = []
    uri = store if "://" in store else str(Path(store).expanduser().absolute())
    with progress_line(lambda: _how_far(latest[-1]) if latest else f"starting with {uri} …"):
        state = Client().reindex(uri, progress=latest.append)
    if as_json:
        typer.echo(json.dumps(to_wire(state), ensure_ascii=False))
    else:
        _tell(state)
    return 0 if state.state == "done" and not state.problems else 1


def _how_far(state: ReindexState) -> str:
    return f"{state.read} of {state.found} runs read" if state.found else f"listing {state.store} …"


def _tell(state: ReindexState) -> None:
    for problem in state.problems[:_MOST_TOLD]:
        typer.echo(f"warning: {problem.what}: {problem.message}", err=True)
    if len(state.problems) > _MOST_TOLD:
        typer.echo(f"warning: and {len(state.problems) - _MOST_TOLD} more; --json tells them all", err=True)
    if state.state == "failed":
        typer.echo(f"error: {state.error}", err=True)
        return
    written = "1 run is" if state.written == 1 else f"{state.written} runs are"
    missing = "1 is" if state.missing == 1 else f"{state.missing} are"
    typer.echo(f"{state.store}: {written} in the catalog; {missing} no longer in the store.")
