# SPDX-License-Identifier: Apache-2.0
"""Live updates over a socket: what happens is told once, in order, to who may hear it, and a gap is never hidden."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.people import Access, Role
from aboard.model.states import RunState
from aboard.server.routes.events import EventStream
from aboard.services.changes import ChangeBus
from aboard.store import Store, open_store
from support.processes import until
from support.stored_runs import TOKEN, put_manifest, serving_runs, store_run


class Event(NamedTuple):
    id: str
    kind: str
    data: Any


class Watcher:
    """A client of the stream that keeps what it was told."""

    def __init__(self, client: Client, query: str = "", last_id: str = "") -> None:
        host, _, port = client.url.removeprefix("http://").partition(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=60)
        headers = {"Authorization": f"Bearer {TOKEN}", **({"Last-Event-ID": last_id} if last_id else {})}
        self._connection.request("GET", f"/api/v1/events{query}", headers=headers)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        assert self._answer.headers["content-type"].startswith("text/event-stream")
        self.events: list[Event] = []
        self.has_ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for raw in self._answer:
                line = raw.decode().rstrip("\n")
                if line.startswith(":"):
                    continue
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    self.events.append(Event(fields["id"], fields["event"], json.loads(fields["data"])))
                    fields = {}
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass
        self.has_ended = True

    def changes(self) -> list[tuple[str, list[str]]]:
        return [(one.data.get("name", ""), one.data.get("changed", [])) for one in self.events]

    def close(self) -> None:
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(20)
        self._answer.close()
        self._connection.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@contextmanager
def serving(tmp_path: Path, store: Store) -> Iterator[Client]:
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri) as client:
        until(lambda: client.stores().items[0].state == "following")
        yield client


def test_a_run_from_its_beginning_to_its_end(tmp_path: Path, store: Store):
    with serving(tmp_path, store) as client:
        watcher = Watcher(client)
        uid = store_run(store, name="base", status=RunState.RUNNING, metrics={"loss": [1.0]})
        until(lambda: ("base", ["seen"]) in watcher.changes())
        put_manifest(store, uid, status=RunState.COMPLETED, sealed=True, serial=2)
        until(lambda: any("status" in changed for _, changed in watcher.changes()))
        assert watcher.events[-1].data["status"] == "completed"
        client.runs.tag("base", ["best"])
        until(lambda: watcher.changes()[-1] == ("base", ["document"]))
        client.runs.delete("base")
        until(lambda: "deleted" in watcher.changes()[-1][1])
        client.runs.delete("base", files=True)
        until(lambda: "purged" in watcher.changes()[-1][1])
        watcher.close()


def test_who_comes_back_hears_what_was_missed_or_that_there_is_a_gap(tmp_path: Path, store: Store):
    with serving(tmp_path, store) as client:
        first = Watcher(client)
        store_run(store, name="one")
        until(lambda: bool(first.events))
        first.close()
        store_run(store, name="two")
        until(lambda: client.runs.count() == 2)
        again = Watcher(client, last_id=first.events[-1].id)
        until(lambda: again.changes() == [("two", ["seen"])])
        again.close()
        last = again.events[-1].id
    with serving(tmp_path, store) as client:  # another life of the server
        stranger = Watcher(client, last_id=last)
        until(lambda: bool(stranger.events))
        assert stranger.events[0].kind == "resync"
        stranger.close()


def test_only_the_workspaces_that_are_asked_for(tmp_path: Path, store: Store):
    with serving(tmp_path, store) as client:
        watcher = Watcher(client, "?workspace=WS2")
        store_run(store, name="one", workspace="ws1")
        store_run(store, name="two", workspace="ws2")
        until(lambda: watcher.changes() == [("two", ["seen"])])
        client.runs.move("two", workspace="ws1")
        until(lambda: watcher.changes()[-1] == ("two", ["moved"]))
        watcher.close()


def test_streams_end_with_the_server(tmp_path: Path, store: Store):
    with serving(tmp_path, store) as client:
        watcher = Watcher(client)
    until(lambda: watcher.has_ended)
    watcher.close()


def test_a_watcher_hears_nothing_of_what_it_may_not_see():
    changes = ChangeBus()
    access = Access(name="ann", roles={"open": Role.VIEWER})
    stream = EventStream(changes, access)
    changes.tell("run", "secret", {"name": "hidden"})
    changes.tell("run", "Open", {"name": "shown"})
    told = stream._encode(changes.since(0))
    assert b"shown" in told
    assert b"hidden" not in told


def test_who_falls_behind_is_told_so():
    changes = ChangeBus(kept=3)
    for number in range(5):
        changes.tell("run", "", {"n": number})
    assert [one.facts["n"] for one in changes.since(2).changes] == [2, 3, 4]
    assert not changes.since(1).is_whole
    assert not changes.since(99).is_whole
    assert changes.position_of("other-3") is None


def test_a_client_that_reads_nothing_holds_up_nobody(tmp_path: Path, store: Store):
    with serving(tmp_path, store) as client:
        host, _, port = client.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(
                f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
            )
            watcher = Watcher(client)
            for number in range(30):
                store_run(store, name=f"run-{number}")
            until(lambda: len(watcher.events) >= 30)
            watcher.close()


def test_what_happens_after_any_answer_is_told_to_who_begins_there(tmp_path: Path, store: Store):
    with serving(tmp_path, store) as client:
        known = answered_with(client, "runs")
        store_run(store, name="meanwhile")
        until(lambda: client.runs.count() == 1)
        watcher = Watcher(client, f"?after={known}")
        until(lambda: watcher.changes() == [("meanwhile", ["seen"])])
        watcher.close()


def answered_with(client: Client, path: str) -> str:
    """The change that an answer says it knows."""
    host, _, port = client.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", f"/api/v1/{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().headers["X-Changes"]
