# SPDX-License-Identifier: Apache-2.0
"""Pages of a catalog with many runs, asked over HTTP: how long a server takes, and how long a client of the SDK."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.server.app import create_app
from aboard.server.auth.shared_token import SharedTokenMiddleware
from aboard.server.http.listening import listen, url_of
from aboard.services.services import ServiceOptions, Services
from catalog import QUESTIONS, fill

_TOKEN = "for this benchmark"
_FEW = ["hparams.h1", "metrics.m1", "metrics.m2"]


@contextmanager
def serving(catalog: Catalog) -> Iterator[str]:
    control = Services(catalog, ServiceOptions())
    app = create_app(control, personal=False, private=False, actor="", remember=lambda _: None)
    guarded = SharedTokenMiddleware(app, hosts=None, token=_TOKEN, cookie="aboard_bench")
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(guarded, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield url_of(listener, "")
    server.should_exit = True
    thread.join()


def _raw(url: str, query: dict[str, str]) -> int:
    """The answer as bytes, by a new connection, as a command makes it."""
    address = f"{url}/api/v1/runs?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {_TOKEN}"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return len(answer.read())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--catalog", help="a file or URL, kept and used again; else a new file")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="aboard-server-") as folder,
        Catalog.open(options.catalog or Path(folder) / "catalog.sqlite") as catalog,
    ):
        fill(catalog, options.runs)
        with serving(catalog) as url:
            _measure(url, options.rounds)


def _measure(url: str, rounds: int) -> None:
    client = Client(url, _TOKEN)
    print("filter | order | HTTP ms | worst ms | KB | SDK ms | SDK, 3 columns, ms")
    for where, order in QUESTIONS:
        query = {"workspace": "main", "sort": order, "limit": "50", **({"where": where} if where else {})}
        asked = {"workspaces": "main", "sort": order, "where": where or None}
        size = _raw(url, query)
        raw = [_timed(lambda query=query: _raw(url, query)) for _ in range(rounds)]
        sdk = [_timed(lambda asked=asked: client.runs.list(**asked)) for _ in range(rounds)]
        narrow = [_timed(lambda asked=asked: client.runs.list(**asked, columns=_FEW)) for _ in range(rounds)]
        numbers = statistics.median(raw), max(raw), size / 1000, statistics.median(sdk), statistics.median(narrow)
        print(f"{where or '-'} | {order} | " + " | ".join(f"{number:.1f}" for number in numbers), flush=True)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    sys.exit(main())
