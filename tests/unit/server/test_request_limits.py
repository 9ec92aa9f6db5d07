# SPDX-License-Identifier: Apache-2.0
"""What one person has under way is bounded; what exceeds it waits, and nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aboard.server.http.asgi import text_response
from aboard.server.http.limits import _AT_ONCE, RequestLimiter, TooManyRequests

SERIES, OTHER = "/api/v1/series", "/api/v1/runs"


class Bench:
    """Requests whose responses end when a test says so."""

    def __init__(self) -> None:
        self.limiter = RequestLimiter(1024)
        self.running = self.ran = 0
        self.end = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.statuses: list[int] = []

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        self.ran += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await self.end.wait()
        finally:
            self.running -= 1

    def ask(self, path: str, person: str = "ann", *, kind: str = "http", method: str = "GET") -> asyncio.Event:
        """Begin a request. The client goes when the event is set."""
        leaves, has_begun = asyncio.Event(), False
        scope = {"type": kind, "path": path, "method": method}

        async def receive() -> dict[str, Any]:
            nonlocal has_begun
            if has_begun:
                await leaves.wait()
                return {"type": "http.disconnect"}
            has_begun = True
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            if message["type"].endswith("response.start"):
                self.statuses.append(message["status"])

        app = self.limiter.with_slot(self.app, person, lambda _, error: text_response(error.status, ""))
        self.tasks.append(asyncio.ensure_future(app(scope, receive, send)))
        return leaves


def with_bench(test: Callable[[Bench], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def whole() -> None:
            bench = Bench()
            await test(bench)
            bench.end.set()
            await asyncio.gather(*bench.tasks)
            assert bench.limiter._people == {}

        asyncio.run(whole())

    run.__name__ = test.__name__
    return run


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@with_bench
async def test_large_responses_wait_until_others_of_the_same_person_are_sent(bench: Bench) -> None:
    most = _AT_ONCE["series"]
    for path in [SERIES, "/api/v1/charts"] * most:
        bench.ask(path)
    await settle()
    assert bench.running == most
    bench.ask(SERIES, "bob")
    bench.ask(OTHER)
    await settle()
    assert bench.running == most + 2
    bench.end.set()
    await asyncio.gather(*bench.tasks)
    assert bench.statuses == [200] * (2 * most + 2)


@pytest.mark.parametrize(("connections", "most"), [(4096, 256), (512, 128), (100, 25), (3, 16)])
def test_one_person_leaves_connections_for_others(connections: int, most: int) -> None:
    """At `ulimit -n 1024`, a server has 512 connections."""
    assert RequestLimiter(connections).most == most


@with_bench
async def test_media_keep_their_turn_until_they_are_sent(bench: Bench) -> None:
    for path in ["media/content", "histograms", "texts"] * _AT_ONCE["media"]:
        bench.ask(f"/api/v1/runs/run1/{path}")
    await settle()
    assert bench.running == _AT_ONCE["media"]


@with_bench
async def test_boards_have_turns_of_their_own(bench: Bench) -> None:
    for _ in range(30):
        bench.ask("/boards/x/data/plugin/scalars/tags")
        bench.ask("/boards/x/data/plugin/timeseries/timeSeries", method="POST")
    await settle()
    assert bench.running == _AT_ONCE["boards"]
    bench.ask(SERIES)
    await settle()
    assert bench.running == _AT_ONCE["boards"] + 1


@with_bench
async def test_streams_and_downloads_keep_no_turn(bench: Bench) -> None:
    for _ in range(3 * _AT_ONCE["others"]):
        bench.ask("/api/v1/events")
    await settle()
    assert bench.running == 3 * _AT_ONCE["others"]


@with_bench
async def test_who_has_too_many_is_told_to_come_back(bench: Bench) -> None:
    for _ in range(bench.limiter.most):
        bench.ask("/api/v1/events")
    await settle()
    for kind in ("http", "websocket"):
        bench.ask(OTHER, kind=kind)
    bench.ask(OTHER, "bob")
    await settle()
    assert bench.statuses == [200] * bench.limiter.most + [429, 429, 200]
    assert TooManyRequests(1).seconds == 1


@with_bench
async def test_a_client_that_leaves_while_it_waits_costs_nothing(bench: Bench) -> None:
    most = _AT_ONCE["series"]
    for _ in range(most):
        bench.ask(SERIES)
    await settle()
    dropped = [bench.ask(SERIES) for _ in range(10)]
    bench.ask(SERIES)
    await settle()
    for one in dropped:
        one.set()
    bench.tasks[-2].cancel()  # also when it is cancelled meanwhile
    await settle()
    del bench.tasks[-2]
    bench.end.set()
    await asyncio.gather(*bench.tasks)
    assert bench.ran == most + 1


@with_bench
async def test_turns_come_back_from_what_fails(bench: Bench) -> None:
    async def fails(*_: Any) -> Any:
        raise ZeroDivisionError

    scope = {"type": "http", "path": SERIES, "method": "GET"}
    bench.ask(OTHER)  # ann stays known
    await settle()
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            await bench.limiter.with_slot(fails, "ann", lambda *_: fails)(scope, fails, fails)
