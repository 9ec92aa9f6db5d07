# SPDX-License-Identifier: Apache-2.0
"""Runs in stores, with the documents that trainings leave, and servers over them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvicorn

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.names import new_uid
from aboard.model.runs import RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.server.app import create_app
from aboard.server.auth.shared_token import SharedTokenMiddleware
from aboard.server.http.listening import listen
from aboard.server.http.logging import RequestLogMiddleware
from aboard.services.boards.selection import BoardRefreshIntervals
from aboard.services.services import ServiceOptions, Services
from aboard.store import Store
from aboard.store.run.documents import AttemptClaim, Manifest, Summary
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import usual_source
from aboard.store.run.run_folder import RunFolder
from support.catalog_runs import metric
from support.processes import until
from support.round_robin import round_robin

TOKEN = "a-token-for-tests-only"
QUICK: Mapping[str, Any] = {
    "folder_interval": 0.2,
    "bucket_interval": 0.2,
    "fresh_seconds": 0.0,
    "look_seconds": 30.0,
    "board_intervals": BoardRefreshIntervals(live=0.2, fixed=0.2),
}
"""Options of a server of which tests need not wait for the usual pauses."""
SERVER_COUNT = int(os.environ.get("SERVERS_UNDER_TEST", "1"))


def store_run(
    store: Store,
    *,
    name: str = "",
    workspace: str = "ws1",
    experiment: str | None = None,
    status: RunState = RunState.COMPLETED,
    sealed: bool | None = None,
    hparams: Mapping[str, Any] | None = None,
    metrics: Mapping[str, list[float]] | None = None,
    tags: Mapping[str, str] | None = None,
    said_tags: Mapping[str, str] | None = None,
    size: int = 100,
    uid: str = "",
    ago: timedelta = timedelta(),
) -> str:
    """A run as a training leaves it; `tags` are those that it gave, `said_tags` those of `run.json`. Its uid."""
    uid = uid or new_uid()
    folder = RunFolder(store, uid)
    at = now() - ago
    folder.create_attempt(AttemptClaim(number=1, token=uid, claimed=at, host="machine", pid=7))
    path = f"tb/events.out.tfevents.1.{uid}"
    store.put(folder.key(path), b"x" * size)
    summaries = {key: metric(*values) for key, values in (metrics or {}).items()}
    folder.write_summary(Summary(started=at, hparams=hparams or {}, metrics=summaries, tags=tags or {}))
    put_manifest(store, uid, status=status, sealed=status.is_ended if sealed is None else sealed, size=size, ago=ago)
    folder.create_run(
        RunRecord(uid=uid, workspace=workspace, experiment=experiment, name=name, created=at, tags=said_tags or {})
    )
    return uid


def put_manifest(
    store: Store,
    uid: str,
    *,
    status: RunState = RunState.RUNNING,
    sealed: bool = False,
    serial: int = 1,
    size: int = 100,
    ago: timedelta = timedelta(),
) -> None:
    """What the shipper of a run says of it."""
    path = f"tb/events.out.tfevents.1.{uid}"
    row = FileRow(path=path, source=usual_source(path), bytes=size, crc32=0, modified=0.0)
    manifest = Manifest(attempt=1, status=status, alive=now() - ago, serial=serial, sealed=sealed, files=(row,))
    RunFolder(store, uid).write_manifest(manifest)


@contextlib.contextmanager
def serving_runs(catalog: Catalog, *stores: str, personal: bool = True, **options: Any) -> Iterator[Client]:
    """A server on a socket over these stores, and a client of it.

    Where SERVERS_UNDER_TEST says so, several over one PostgreSQL, of which each connection gets the next.
    """
    count = SERVER_COUNT if catalog.is_shared else 1
    with contextlib.ExitStack() as stack:
        catalogs = [catalog, *(stack.enter_context(Catalog.open(str(catalog))) for _ in range(count - 1))]
        ports = [stack.enter_context(_serving(one, *stores, personal=personal, **options)) for one in catalogs]
        port = ports[0] if count == 1 else stack.enter_context(round_robin(ports))
        yield Client(f"http://127.0.0.1:{port}", TOKEN)


@contextlib.contextmanager
def _serving(catalog: Catalog, *stores: str, personal: bool, delay: float = 0, **options: Any) -> Iterator[int]:
    given = {**QUICK, **options}
    given["may_add_stores"] = personal
    control = Services(catalog, ServiceOptions(stores=stores, **given))
    app = create_app(control, personal=personal, private=False, actor="tester", remember=lambda _: None)
    guarded = SharedTokenMiddleware(app, hosts=frozenset({"127.0.0.1"}), token=TOKEN, cookie="aboard_test")
    guarded = RequestLogMiddleware(guarded, app.state.metrics, access_log=True)
    listener = listen("127.0.0.1", 0)
    answering = _late(guarded, delay) if delay else guarded
    server = uvicorn.Server(uvicorn.Config(answering, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield listener.getsockname()[1]
    finally:
        control.changes.close()  # as `serve` does it
        server.should_exit = True
        thread.join(10)
        listener.close()
        control.close()


def _late(app: Any, seconds: float) -> Any:
    """The same application, which thinks before it answers."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    return answer


def until_seen(client: Client, *uris: str) -> None:
    """Wait until the server has looked at its stores."""
    until(lambda: all(one.state == "following" for one in client.stores().items if not uris or one.uri in uris))


def folder_uri(path: Path) -> str:
    return str(path / "store")
