# SPDX-License-Identifier: Apache-2.0
"""Pages of boards in a server, asked as a browser with a token would."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from aboard.client.client import Client
from aboard.model.states import RunState
from aboard.store import Store
from aboard.writer.summary_writer import SummaryWriter
from support.processes import until
from support.stored_runs import SERVER_COUNT, TOKEN, store_run


class PageAnswer(NamedTuple):
    status: int
    body: bytes
    address: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(client: Client, path: str, *, follow: bool = True, headers: dict[str, str] | None = None) -> PageAnswer:
    """An answer, whatever its status."""
    request = urllib.request.Request(client.url + path, headers={"Authorization": f"Bearer {TOKEN}", **(headers or {})})
    opener = urllib.request.build_opener(*([] if follow else [_Stay()]))
    try:
        with opener.open(request, timeout=60) as answer:
            return PageAnswer(answer.status, answer.read(), answer.url, dict(answer.headers))
    except urllib.error.HTTPError as error:
        with error:
            return PageAnswer(error.code, error.read(), path, dict(error.headers))


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        return None


@contextlib.contextmanager
def event_stream(client: Client, path: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Server-sent events of the API as they arrive: kind and payload."""
    request = urllib.request.Request(f"{client.url}/api/v1/{path}", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        yield _events(answer)


def _events(answer: Any) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in answer:
        name, _, value = line.decode().strip().partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def shown_runs(client: Client, uri: str) -> set[str]:
    """The names of the runs that a board shows."""
    return set(ask(client, f"{uri}data/runs").json)


def until_answered(client: Client, uri: str, status: int) -> None:
    """Wait until a board is answered so: by all servers, which hear from each other what became of it."""
    until(lambda: all(ask(client, uri).status == status for _ in range(SERVER_COUNT)), 60)


def until_shown(client: Client, uri: str, *names: str) -> None:
    """Wait until a board shows just these runs: by all servers, each of which opens it for itself."""
    until(lambda: all(shown_runs(client, uri) == set(names) for _ in range(SERVER_COUNT)))


def logged_run(
    store: Store,
    *,
    logdirs: tuple[str, ...] = ("train",),
    points: int = 5,
    status: RunState = RunState.COMPLETED,
    **fields: Any,
) -> str:
    """A run with a curve `loss` in each of its logdirs, and nothing at its top. Its uid."""
    uid = store_run(store, status=status, **fields)
    events = Path(store.uri) / uid / "tb"
    for file in events.iterdir():
        file.unlink()  # what `store_run` left is no event file
    for logdir in logdirs:
        log(store, uid, logdir, range(points))
    return uid


def log(store: Store, uid: str, logdir: str, steps: range) -> None:
    """Write points of a curve, as a training does."""
    with SummaryWriter(str(Path(store.uri) / uid / "tb" / logdir)) as writer:
        for step in steps:
            writer.add_scalar("loss", 1.0 / (step + 1), step)
