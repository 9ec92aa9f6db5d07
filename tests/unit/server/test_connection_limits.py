# SPDX-License-Identifier: Apache-2.0
"""Limits of connections, with a clock that the tests move: who is slow is cut off, and who only takes long is not."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from uvicorn.server import ServerState

from aboard.server.http.serving import ConnectionLimits, LimitedConfig, LimitedConnection, server_config

LIMITS = ConnectionLimits(most=3, header_seconds=10, body_seconds=30, stalled_seconds=300)
HEAD = b"POST /x HTTP/1.1\r\nHost: x\r\n"


class Timer:
    def __init__(self, at: float, work: Callable[[], None]) -> None:
        self.at, self.work, self.is_cancelled = at, work, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """As much of an event loop as a connection uses. Requests are collected and not answered."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[Timer] = []
        self.requests: list[Coroutine[Any, Any, None]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, work: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, work))
        return self.timers[-1]

    def create_task(self, request: Coroutine[Any, Any, None], **_: Any) -> Any:
        self.requests.append(request)
        return type("Task", (), {"add_done_callback": lambda *_: None})()

    def pass_seconds(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [one for one in self.timers if one.at <= end and not one.is_cancelled]:
            first = min(due, key=lambda one: one.at)
            self.timers.remove(first)
            self.now = first.at
            first.work()
        self.now = end


class Transport:
    def __init__(self) -> None:
        self.written, self.buffered = b"", 0
        self.is_closed = self.is_aborted = False

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name in ("sockname", "peername") else None

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    pass


class Bench:
    def __init__(self) -> None:
        self.loop, self.state = Loop(), ServerState()
        self.config = LimitedConfig(_nothing, LIMITS, log_config=None, lifespan="off")
        self.config.load()

    def connect(self) -> tuple[LimitedConnection, Transport]:
        connection = LimitedConnection(self.config, self.state, {}, _loop=self.loop)  # type: ignore[arg-type]
        transport = Transport()
        connection.connection_made(transport)  # type: ignore[arg-type]
        return connection, transport


@pytest.fixture
def bench():
    bench = Bench()
    yield bench
    for request in bench.loop.requests:
        request.close()


async def respond(connection: LimitedConnection, body: bytes = b"", *, more: bool = False) -> None:
    cycle = connection.cycle
    if not cycle.response_started:
        await cycle.send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await cycle.send({"type": "http.response.body", "body": body, "more_body": more})


def run(work: Coroutine[Any, Any, None]) -> None:
    with pytest.raises(StopIteration):
        work.send(None)


def test_who_sends_nothing_is_cut_off(bench):
    _, transport = bench.connect()
    bench.loop.pass_seconds(9.9)
    assert not transport.is_closed
    bench.loop.pass_seconds(3)
    assert transport.is_closed
    assert transport.written == b""


def test_who_drips_headers_is_cut_off(bench):
    connection, transport = bench.connect()
    for letter in HEAD * 10:
        if not transport.is_closed:
            connection.data_received(bytes([letter]))
            bench.loop.pass_seconds(1)
    assert transport.is_closed
    assert bench.loop.now < 1000 + 300
    assert transport.written.startswith(b"HTTP/1.1 408 ")


def test_headers_in_time_are_a_request_however_long_its_response_takes(bench):
    connection, transport = bench.connect()
    bench.loop.pass_seconds(9)
    connection.data_received(HEAD[:10])
    bench.loop.pass_seconds(9)
    connection.data_received(HEAD[10:] + b"\r\n")
    assert len(bench.loop.requests) == 1
    bench.loop.pass_seconds(100_000)
    assert not transport.is_closed


def test_who_drips_a_body_is_cut_off(bench):
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"Content-Length: 1000\r\n\r\n")
    for _ in range(100):
        if not transport.is_closed:
            connection.data_received(b"x")
            bench.loop.pass_seconds(1)
    assert transport.is_closed
    assert bench.loop.now < 1000 + 45


def test_a_large_body_on_a_slow_line_is_not_cut_off(bench):
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"Content-Length: 1000000\r\n\r\n")
    for _ in range(100):
        bench.loop.pass_seconds(5)
        assert not transport.is_closed
        connection.data_received(b"x" * 10_000)
        connection.cycle.body = bytearray()
        connection.flow.resume_reading()
    bench.loop.pass_seconds(100_000)
    assert not transport.is_closed


def test_time_that_the_server_takes_to_read_a_body_does_not_count(bench):
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"Content-Length: 1000000\r\n\r\n" + b"x" * 100_000)
    assert connection.flow.read_paused
    bench.loop.pass_seconds(1000)
    connection.flow.resume_reading()
    bench.loop.pass_seconds(20)
    assert not transport.is_closed
    bench.loop.pass_seconds(20)
    assert transport.is_closed


def test_a_body_behind_an_answered_request_is_waited_for_no_longer(bench):
    """A refused request is answered before its body has arrived."""
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"Content-Length: 1000\r\n\r\n")
    run(respond(connection, b"no"))
    bench.loop.pass_seconds(45)
    assert transport.is_closed


def test_a_response_that_is_not_read_is_given_up(bench):
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"\r\n")
    transport.buffered = 300_000
    bench.loop.pass_seconds(290)
    assert not transport.is_closed
    bench.loop.pass_seconds(20)
    assert transport.is_aborted


def test_a_download_that_is_read_slowly_is_not_cut_off(bench):
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"\r\n")
    for left in range(300_000, 0, -1000):
        transport.buffered = left
        bench.loop.pass_seconds(200)
    assert not transport.is_closed
    # What was read has been replaced: the same size is no sign of standing still.
    for _ in range(10):
        transport.buffered = 300_000
        connection.resume_writing()
        bench.loop.pass_seconds(200)
    assert not transport.is_closed


def test_what_nobody_reads_is_not_waited_for_at_the_end(bench):
    connection, transport = bench.connect()
    connection.data_received(HEAD + b"Connection: close\r\n\r\n")
    transport.buffered = 300_000
    run(respond(connection, b"ok"))
    assert transport.is_closed
    assert not transport.is_aborted
    bench.loop.pass_seconds(45)
    assert transport.is_aborted


def test_a_new_connection_takes_the_place_of_the_one_idle_for_longest(bench, caplog):
    busy, busy_transport = bench.connect()
    busy.data_received(HEAD + b"\r\n")
    (_, first), (_, second) = [(bench.loop.pass_seconds(1), bench.connect())[1] for _ in range(2)]
    _, third = bench.connect()
    assert [one.is_aborted for one in (busy_transport, first, second, third)] == [False, True, False, False]
    assert "All 3 connections are in use" in caplog.text


def test_when_all_are_busy_a_new_connection_is_refused(bench):
    for _ in range(3):
        bench.connect()[0].data_received(HEAD + b"\r\n")
    connection, transport = bench.connect()
    assert transport.is_closed
    assert transport.written.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in transport.written
    connection.data_received(HEAD + b"\r\n")
    assert len(bench.loop.requests) == 3


def test_the_next_request_on_a_connection_has_its_own_time(bench):
    connection, transport = bench.connect()
    for _ in range(5):
        connection.data_received(HEAD + b"\r\n")
        bench.loop.pass_seconds(60)
        run(respond(connection, b"ok"))
        bench.loop.pass_seconds(4)  # below uvicorn's own limit for idle connections
        assert not transport.is_closed
    connection.data_received(HEAD)
    bench.loop.pass_seconds(9)
    assert not transport.is_closed
    bench.loop.pass_seconds(4)
    assert transport.is_closed


def test_the_number_of_connections_leaves_file_descriptors_for_the_server():
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 0 < ConnectionLimits().most_here() <= min(soft // 2, 4096)
    assert ConnectionLimits(most=7).most_here() == 7


def test_every_server_has_limits():
    """`aboard view` and private servers too, which settle none."""
    config = server_config(_nothing)
    assert isinstance(config, LimitedConfig)
    assert config.limits == ConnectionLimits()
    config.load()
    assert config.http_protocol_class is LimitedConnection
