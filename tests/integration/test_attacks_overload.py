# SPDX-License-Identifier: Apache-2.0
"""Too much at once: large, slow, unfinished and many requests keep nobody else waiting."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.server import ServeSettings
from aboard.errors import UnknownName
from aboard.model.people import Role
from aboard.services.services import Services
from support.attacked_server import attacked_server, me
from support.processes import until
from support.team_servers import BOSS, TeamServer, team_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    with attacked_server(tmp_path_factory.mktemp("attacked")) as server:
        yield server


def test_large_requests_are_cut_off(server: TeamServer):
    answer = server.ask("/api/v1/runs", "PATCH", body={"runs": ["x" * (2 << 20)]}, who="vic")
    assert answer.status == 413
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        head = (
            f"PATCH /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.tokens['vic']}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode())
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        said = b""
        try:
            for _ in range(64):
                connection.sendall(piece)
            connection.sendall(b"0\r\n\r\n")
            said = connection.recv(4096)
        except ConnectionError:
            said = b"HTTP/1.1 413 "
    assert b" 413 " in said or b" 400 " in said


def test_slow_and_broken_clients_keep_nobody_waiting(server: TeamServer):
    """Some stop in the middle of their headers, some in what they send, some take no answer, some break off."""
    known = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.tokens['vic']}\r\n\r\n"
    takes_nothing = f"GET /api/v1/openapi.json HTTP/1.1\r\n{known}".encode() * 50
    unfinished = [*_unfinished(server.port, server.tokens["vic"])[1:5], takes_nothing]
    with contextlib.ExitStack() as stack:
        for number in range(200):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            stack.callback(client.close)
            client.sendall(unfinished[number % len(unfinished)])
            if number % 7 == 0:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no farewell
                client.close()
        # Not vic, whose own share of connections that is.
        assert [me(server, who=BOSS).status for _ in range(20)] == [200] * 20
    assert me(server, who="vic").status == 200


def _unfinished(port: int, token: str) -> list[bytes]:
    host = f"Host: 127.0.0.1:{port}\r\n"
    known = f"{host}Authorization: Bearer {token}\r\n"
    texts = (
        "",
        "GET /api/v1/me HTT",
        f"GET /api/v1/me HTTP/1.1\r\n{known}",
        f"PATCH /api/v1/runs HTTP/1.1\r\n{known}Content-Length: 1000\r\n\r\n{{",
        f"POST /login HTTP/1.1\r\n{host}Content-Length: 1000\r\n\r\ntoken=",
        f"POST /api/v1/login/exchange HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n5\r\n",
    )
    return [text.encode() for text in texts]


def test_unfinished_requests_are_cut_off_and_streams_are_not(tmp_path: Path):
    serve = ServeSettings(header_seconds=1, body_seconds=1, stalled_seconds=1)
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=serve) as server,
        contextlib.ExitStack() as stack,
    ):
        server.person("vic", vision=Role.EDITOR)

        def connect(port: int, sent: bytes) -> socket.socket:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            client.sendall(sent)
            return client

        known = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.tokens['vic']}\r\n\r\n"
        stream = connect(server.port, f"GET /api/v1/events HTTP/1.1\r\n{known}".encode())
        assert stream.recv(4096).startswith(b"HTTP/1.1 200 ")
        for _ in range(2):
            clients = [
                connect(port, text)
                for port in (server.port, server.boards_port)
                for text in _unfinished(port, server.tokens["vic"])
                for _ in range(5)
            ]
            for client in clients:  # all come to their end, some with a response
                with contextlib.suppress(ConnectionResetError):
                    while client.recv(4096):
                        pass
        server.control.changes.tell("run", "vision", {"name": "after-all-of-that"})
        heard = b""
        while b"after-all-of-that" not in heard:
            piece = stream.recv(4096)
            assert piece, heard
            heard += piece


@pytest.mark.parametrize("of", ["port", "boards_port"])
def test_idle_connections_take_no_place_from_others(tmp_path: Path, of: str):
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=ServeSettings(connections=20, header_seconds=3600)) as server,
        contextlib.ExitStack() as stack,
    ):
        port = getattr(server, of)
        texts = [text for text in _unfinished(port, server.tokens[BOSS])[:3] for _ in range(40)]
        clients: list[socket.socket] = []
        for text in texts:
            clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)))
            with contextlib.suppress(ConnectionError):
                clients[-1].sendall(text)
            assert server.ask("/healthz").status == 200
        for client in clients[:-20]:
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
        assert me(server, who=BOSS).status == 200


def test_large_responses_of_one_person_wait_for_each_other(server: TeamServer, monkeypatch: pytest.MonkeyPatch):
    """Whole curves are made in memory: at most four at once of one person, who is answered otherwise meanwhile."""
    lock, may_end = threading.Lock(), threading.Event()
    under_way: list[int] = [0]

    def slow(*_: object) -> None:
        with lock:
            under_way.append(under_way[-1] + 1)
        assert may_end.wait(60)
        with lock:
            under_way.append(under_way[-1] - 1)
        raise UnknownName("there is no such run")

    monkeypatch.setattr(Services, "curves", slow)
    with ThreadPoolExecutor(13) as pool:
        asked = [pool.submit(server.ask, "/api/v1/series?run=run1&points=0", who="vic") for _ in range(12)]
        try:
            until(lambda: under_way[-1] == 4)
            assert me(server, who="vic").status == 200
            assert server.ask("/healthz").status == 200
            other = pool.submit(server.ask, "/api/v1/series?run=run1&points=0", who=BOSS)
            until(lambda: under_way[-1] == 5)
        finally:
            may_end.set()
        assert [one.result().status for one in (*asked, other)] == [404] * 13
    assert max(under_way) == 5


def test_streams_of_one_person_leave_connections_for_others(tmp_path: Path):
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=ServeSettings(connections=80)) as server,
        contextlib.ExitStack() as stack,
    ):
        server.person("vic", vision=Role.VIEWER)
        known = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.tokens['vic']}\r\n\r\n"
        begun: list[bytes] = []
        for _ in range(24):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            client.sendall(f"GET /api/v1/events HTTP/1.1\r\n{known}".encode())
            begun.append(client.recv(4096))
        assert [one[9:12] for one in begun] == [b"200"] * 20 + [b"429"] * 4
        assert b"retry-after: 1\r\n" in begun[-1].lower()
        assert me(server, who="vic").status == 429
        assert me(server, who=BOSS).status == 200
