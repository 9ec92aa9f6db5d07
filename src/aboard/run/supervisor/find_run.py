# SPDX-License-Identifier: Apache-2.0
"""Finds a run of a store by its name, without a server.

The first search reads `run.json` of every run: one request for each, sixteen at a time. What was read is kept below the
person's home folder, so a later search lists what is new and reads only that. Names that a server has changed since are
noticed when the run is found by its old name, not when it is looked for by its new one.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, cast

from aboard.errors import AboardError, DamagedDocument
from aboard.model.names import folded
from aboard.model.run import Run
from aboard.model.uid import is_uid
from aboard.run.local_json import read_json, write_json
from aboard.store import Store
from aboard.store.run.listing import RunListing
from aboard.store.run.run_folder import RunFolder

_AT_ONCE = 16


class _Known(NamedTuple):
    workspace: str
    name: str


def find_run(store: Store, workspace: str, name: str, home: Path) -> Run | None:
    """The newest run of that name in a workspace; None when there is none. Raises StoreError."""
    cache = home / "cache" / "names" / f"{hashlib.sha256(store.uri.encode()).hexdigest()[:24]}.json"
    known = _read_cache(cache)
    listed = RunListing(store).new()
    fresh = [uid for uid in listed if uid not in known]
    known = {uid: one for uid, one in known.items() if uid in set(listed)}
    known |= _read_names(store, fresh)
    if fresh:
        _write_cache(cache, store.uri, known)
    wanted = _Known(workspace, folded(name))
    for uid in sorted((uid for uid, one in known.items() if one == wanted), reverse=True):
        run = _readable(store, uid)
        if run and run.deleted is None and (run.workspace, folded(run.name)) == wanted:
            return run
    return None


def _read_names(store: Store, uids: list[str]) -> dict[str, _Known]:
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        runs = threads.map(_readable, [store] * len(uids), uids)
        # What cannot be read yet is asked for again next time.
        return {uid: _Known(run.workspace, folded(run.name)) for uid, run in zip(uids, runs, strict=True) if run}


def _readable(store: Store, uid: str) -> Run | None:
    try:
        return RunFolder(store, uid).read_run()
    except DamagedDocument:
        return None


def _read_cache(path: Path) -> dict[str, _Known]:
    runs = read_json(path).get("runs")
    found: dict[str, _Known] = {}
    for uid, entry in (cast("dict[str, object]", runs) if isinstance(runs, dict) else {}).items():
        match entry:
            case [str(workspace), str(name)] if is_uid(uid):
                found[uid] = _Known(workspace, name)
            case _:
                continue
    return found


def _write_cache(path: Path, store: str, known: dict[str, _Known]) -> None:
    runs = {uid: list(one) for uid, one in known.items()}
    try:
        write_json(path, {"format": "aboard-names", "version": [1, 0], "store": store, "runs": runs})
    except AboardError:
        return  # the next search takes as long as this one
