# SPDX-License-Identifier: Apache-2.0
"""`aboard sync --columns STORE…` puts the columns that sealed runs of a store lack, so that they open like others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import typer

from aboard.errors import AboardError, InvalidValue
from aboard.store import Store, open_store
from aboard.store.run.listing import RunListing
from aboard.store.run.run_folder import RunFolder
from aboard.upload.packing import Packed, pack_later

_AT_ONCE = 4  # each has the event files of a run on this machine, and decodes them


class PackedRun(NamedTuple):
    """A run, and what became of it; `problem` where the store refused."""

    store: str
    uid: str
    state: str
    problem: str = ""


def sync_columns(uris: Sequence[str], *, as_json: bool) -> int:
    """Say what became of each run that had none, and how many had; 1 when one failed."""
    if not uris:
        raise InvalidValue(
            "--columns needs the store whose runs are meant.", hint="aboard sync --columns s3://bucket/runs"
        )
    done: list[PackedRun] = []
    for store in [_opened(uri) for uri in uris]:
        for run in _packed(store):
            done.append(run)
            if not as_json and run.state != Packed.THERE:
                typer.echo(f"{run.uid}: {run.state.upper()}{f'  {run.problem}' if run.problem else ''}")
    if as_json:
        typer.echo(json.dumps({"items": [run._asdict() for run in done], "next": None}, ensure_ascii=False))
    else:
        count = sum(run.state == Packed.PACKED for run in done)
        typer.echo(f"{count} of {len(done)} runs got columns; {_there(done)} had them.", err=True)
    return 1 if any(run.problem for run in done) else 0


def _there(done: Sequence[PackedRun]) -> int:
    return sum(run.state == Packed.THERE for run in done)


def _opened(uri: str) -> Store:
    store = open_store(uri)
    if store.can_append:
        raise InvalidValue(f"{uri} is a folder, whose event files are read where they are.", hint="name a bucket")
    return store


def _packed(store: Store) -> Iterator[PackedRun]:
    def packed(uid: str) -> PackedRun:
        try:
            return PackedRun(store.uri, uid, pack_later(RunFolder(store, uid)).value)
        except AboardError as error:
            return PackedRun(store.uri, uid, "failed", error.message)

    uids = RunListing(store).new()
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        yield from threads.map(packed, uids)
