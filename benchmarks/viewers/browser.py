# SPDX-License-Identifier: Apache-2.0
"""Requests as TensorBoard's page sends them from Chromium: which, in what form, over how many connections.

Recorded from the page of TensorBoard 2.21 in Chromium: a curve is asked for by one multipart POST per tag, for all runs
at once; answers may be compressed; a host gets at most six connections, which are kept alive.
"""

from __future__ import annotations

import gzip
import http.client
import json
import queue
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

_CONNECTIONS = 6
_BOUNDARY = "----WebKitFormBoundarybenchmark"
_EXPERIMENT = "experiment/defaultExperimentId"
_HEADERS = {"Accept": "application/json, text/plain, */*", "Accept-Encoding": "gzip, deflate, br, zstd"}


class NotYet(Exception):
    """Nobody listens, or the answer is not 200."""


@dataclass(frozen=True)
class Answer:
    raw: bytes
    headers: dict[str, str]

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.raw) if self.headers.get("content-encoding") == "gzip" else self.raw


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Browser:
    """One page: a connection of its own for single requests, six for many at once."""

    def __init__(self, port: int) -> None:
        self._connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=600) for _ in range(_CONNECTIONS)]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.send(Request("GET", path))

    def send(self, request: Request) -> Answer:
        return _sent(self._connections[0], request)

    def timed(self, request: Request) -> float:
        """Seconds of one request, to the last byte of the answer."""
        start = time.perf_counter()
        self.send(request)
        return time.perf_counter() - start

    def all_at_once(self, requests: Sequence[Request]) -> float:
        """Seconds until all are answered, over six connections."""
        waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        for request in requests:
            waiting.put(request)
        failures: list[Exception] = []

        def work(connection: http.client.HTTPConnection) -> None:
            try:
                while True:
                    _sent(connection, waiting.get_nowait())
            except queue.Empty:
                pass
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(connection,)) for connection in self._connections]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - start
        if failures:
            raise SystemExit(f"a request failed: {failures[0]!r}")
        return seconds

    def open_page(self) -> float:
        """Seconds for what the page asks for before it asks for curves: its script, then everything it lists."""
        start = time.perf_counter()
        page = self.get("").body.decode()
        found = re.search(r'src="\.?/?([^"]*index\.js[^"]*)"', page)
        if not found:
            raise SystemExit("the page has no index.js")
        self.get(found[1])
        self.all_at_once(FIRST_REQUESTS)
        self.send(SESSION_GROUPS)
        return time.perf_counter() - start


def curve(tag: str, asking: int = 0) -> Request:
    """What the Time Series dashboard asks for a tag; with another number `asking` in other words that mean the same.

    A server may keep answers by what was asked: whoever wants it to answer anew asks in words that it has not seen.
    """
    asked = " " * asking + json.dumps([{"plugin": "scalars", "tag": tag}], separators=(",", ":"))
    part = f'Content-Disposition: form-data; name="requests"\r\n\r\n{asked}\r\n'
    body = f"--{_BOUNDARY}\r\n{part}--{_BOUNDARY}--\r\n".encode()
    content_type = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
    return Request("POST", f"{_EXPERIMENT}/data/plugin/timeseries/timeSeries", body, content_type)


def series(run: str, tag: str) -> Request:
    """All points of a tag in one run, as the Scalars dashboard downloads them."""
    return Request("GET", f"data/plugin/scalars/scalars?{urlencode({'run': run, 'tag': tag})}")


def _asked_as_json(route: str, **content: object) -> Request:
    body = json.dumps({"experimentName": "defaultExperimentId", **content}).encode()
    return Request("POST", f"{_EXPERIMENT}/data/plugin/hparams/{route}", body, {"Content-Type": "application/json"})


RUNS = Request("GET", f"{_EXPERIMENT}/data/runs")
PLUGINS = Request("GET", "data/plugins_listing")
TIME_SERIES_TAGS = Request("GET", f"{_EXPERIMENT}/data/plugin/timeseries/tags")
SCALARS_TAGS = Request("GET", "data/plugin/scalars/tags")
HPARAMS = _asked_as_json("experiment", hparamsLimit=1000, includeMetrics=False)
SESSION_GROUPS = _asked_as_json(
    "session_groups",
    allowedStatuses=["STATUS_FAILURE", "STATUS_RUNNING", "STATUS_SUCCESS", "STATUS_UNKNOWN"],
    colParams=[],
    startIndex=0,
    sliceSize=1_000_000,
    includeMetrics=False,
)
# In the order in which the page sends them; two of them twice, as it does.
FIRST_REQUESTS = (
    Request("GET", "icon_bundle.svg"),
    PLUGINS,
    Request("GET", "data/environment"),
    HPARAMS,
    RUNS,
    TIME_SERIES_TAGS,
    Request("GET", "data/environment"),
    Request("GET", "data/runs"),
)


def _sent(connection: http.client.HTTPConnection, request: Request) -> Answer:
    try:
        try:
            status, answer = _exchanged(connection, request)
        except (BrokenPipeError, ConnectionResetError):  # the server had closed a connection that was idle for long
            connection.close()
            status, answer = _exchanged(connection, request)
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise NotYet(f"{request.path}: {error!r}") from error
    if status != http.client.OK:
        raise NotYet(f"{request.path}: {status} {answer.raw[:200]!r}")
    return answer


def _exchanged(connection: http.client.HTTPConnection, request: Request) -> tuple[int, Answer]:
    connection.request(request.method, f"/{request.path}", request.body, {**_HEADERS, **request.headers})
    response = connection.getresponse()
    raw = response.read()
    return response.status, Answer(raw, {name.lower(): value for name, value in response.getheaders()})
