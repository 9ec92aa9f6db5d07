# SPDX-License-Identifier: Apache-2.0
"""Creates a board over the run of this process, once the server knows the run. Apart because it imports the client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from aboard.client.board import Board
from aboard.client.client import Client
from aboard.errors import ServerUnavailable, UnknownName
from aboard.run.spool import DESTINATION, read_json

_LOOK_SECONDS = 0.2


def create_board(spool: Path, name: str, *, client: Client | None, timeout: float, options: dict[str, Any]) -> Board:
    """The board; an error after `timeout` seconds without a sign of the run in its store."""
    asked = client or Client()
    end = time.monotonic() + timeout
    # The helper finds out which run it is: a name may make this a new attempt of one that is there.
    while not (destination := read_json(spool / DESTINATION)).get("uid"):
        _pause(end, name, "is not in its store yet", "see that the store can be written; `aboard sync` tells more")
    uid, store = str(destination["uid"]), str(destination.get("store") or "")
    if asked.is_private and store:
        asked.add_store(store)
    while True:
        try:
            asked.runs.get(uid)
            break
        except UnknownName:
            _pause(end, name, f"is not known to the server at {asked.url} yet", f"see that it follows {store}")
    options.setdefault("display_name", name)
    return Board.create(sources=uid, client=asked, **options)


def _pause(end: float, name: str, state: str, hint: str) -> None:
    if time.monotonic() >= end:
        raise ServerUnavailable(f"the run {name} {state}", hint=hint)
    time.sleep(_LOOK_SECONDS)
