# SPDX-License-Identifier: Apache-2.0
"""The origin of boards that are processes: what passes through it, what does not, and who cannot hurt whom."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import sys
import uuid
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from sqlalchemy import Connection, insert, update

from aboard.catalog.catalog import Catalog
from aboard.catalog.schema import board_units, boards
from aboard.errors import UnknownName
from aboard.executors.local import Local
from aboard.model.boards import BoardKind, BoardRecord
from aboard.model.people import Role
from aboard.model.states import UnitState
from aboard.model.times import now
from aboard.model.units import Port, UnitSpec
from support import echo_unit
from support.processes import until
from support.team_servers import BOSS, TeamServer, team_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[TeamServer]:
    """A server with one board, whose process is a program that tells what reached it."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, Catalog.open(home / "catalog.sqlite") as catalog:
        patch.setenv("ABOARD_HOME", str(home))
        with team_server(catalog, home, options={"process_home": home}) as running:
            catalog.workspaces.add("ws1")
            board = BoardRecord(
                id=str(uuid.uuid4()),
                name="echo",
                workspace="ws1",
                sources=(str(home),),
                created=now(),
                owner=BOSS,
                kind=BoardKind.PROCESS,
                secret="0" * 32,
            )
            prefix = f"/boards/{board.id}"
            command = (sys.executable, echo_unit.__file__, prefix, "$(ABOARD_PORT_HTTP)")
            spec = UnitSpec(name="echo", command=command, ports=(Port(name="http"),), grace=0)
            handle = Local().submit(spec)
            catalog.boards.add(replace(board, state=UnitState.STOPPED))
            # As if a server had been killed after it had copied the runs and submitted the unit.
            copies = home / "copies"
            copies.mkdir()
            host = running.control.processes.host
            kept = {"unit": spec.id, "board_id": board.id, "host": host, "executor": "local", "said": 0}
            options = Local().written_out().options

            def killed_in_between(connection: Connection) -> None:
                connection.execute(insert(board_units).values(**kept, options=options, mirror=str(copies)))
                connection.execute(update(boards).values(state="starting", unit=spec.id, unit_host=host))

            catalog.database.write(killed_in_between)
            running.control.processes.wake()
            running.board = board.id
            until(lambda: catalog.boards.get(board.id).state is UnitState.RUNNING)
            yield running
            with contextlib.suppress(UnknownName):
                Local().stop(handle, grace=0)
                Local().wait(handle, 60)


def ask(server: TeamServer, path: str, method: str = "GET", **given: Any) -> Any:
    return server.ask_board(f"/boards/{server.board}/{path}", method, **{"who": BOSS, **given})


def test_nothing_that_says_who_somebody_is_reaches_the_process(server: TeamServer):
    answer = ask(
        server,
        "echo",
        Cookie="aboard_session_1=secret; other=1",
        X_Forwarded_User="root",
        X_Forwarded_For="1.2.3.4",
        X_Aboard_Proxy_Secret="s",
        Remote_User="root",
        X_Auth_Request_Email="a@b",
        Proxy_Authorization="Basic x",
        X_Api_Token="t",
        Connection="close, x-dropped",
        X_Dropped="1",
        TE="trailers",
        User_Agent="browser",
        X_XSRF_Protected="1",
        Range="bytes=0-1",
    )
    reached = {name.lower(): value for name, value in answer.document["headers"]}
    assert reached.keys() == {"host", "user-agent", "x-xsrf-protected", "range"}
    assert reached["user-agent"] == "browser"


def test_the_cookie_of_a_board_ends_with_the_token_of_the_login(server: TeamServer):
    """The cookie has the scope of that token too, and a logout with another token leaves it alone."""
    page = f"/boards/{server.board}/"

    def opened(name: str) -> str:
        text = server.catalog.tokens.issue(BOSS, name, scopes=["read"])[1]
        cookie = server.ask("/login", "POST", form=f"token={text}&next=/", Origin=server.url).cookie
        came = server.ask(page, Cookie=cookie).header("location")
        return server.ask_board(came[came.index(page) :]).cookie

    first, second = opened("first"), opened("second")
    secret = second.partition("=")[2]
    assert server.control.logins.of_board_session(secret, server.board).most is Role.VIEWER
    assert [server.ask_board(f"{page}echo", Cookie=one).status for one in (first, second)] == [200, 200]
    server.client().tokens.revoke("first")
    assert [server.ask_board(f"{page}echo", Cookie=one).status for one in (first, second)] == [401, 200]
    out = server.ask("/logout", "POST", form="", Cookie=server.logged_in(BOSS), Origin=server.url)
    assert (out.status, server.ask_board(f"{page}echo", Cookie=second).status) == (303, 200)


def test_what_comes_back_changes_nothing_of_other_pages(server: TeamServer):
    answer = ask(server, "cookies")
    names = {name.lower() for name, _ in answer.headers}
    assert answer.body == b"cookies"
    assert not names & {"set-cookie", "clear-site-data", "service-worker-allowed"}
    assert answer.header("x-mine") == "kept"
    assert "frame-ancestors 'self'" in answer.header("content-security-policy")
    assert answer.header("x-content-type-options") == "nosniff"
    assert ask(server, "away").header("location") == f"/boards/{server.board}/away/there?x=1"


def test_addresses_and_methods_arrive_as_they_were(server: TeamServer):
    strange = "a%2Fb%20c/%C3%A4?x=%26&y=a+b&z"
    told = ask(server, strange, "PUT", body={"k": 1}).document
    assert told["path"] == f"/boards/{server.board}/{strange}"
    assert (told["method"], told["size"]) == ("PUT", 8)
    assert ask(server, "echo", "HEAD").body == b""
    assert ask(server, "echo", "POST").document["size"] == 0


def test_large_things_pass_in_pieces(server: TeamServer):
    connection = http.client.HTTPConnection("127.0.0.1", server.boards_port, timeout=60)
    with contextlib.closing(connection):
        headers = {"Authorization": f"Bearer {server.tokens[BOSS]}"}
        pieces = (b"x" * 65536 for _ in range(160))
        connection.request("POST", f"/boards/{server.board}/up", pieces, headers, encode_chunked=True)
        assert b'"size": 10485760' in connection.getresponse().read()
        connection.request("GET", f"/boards/{server.board}/forever", headers=headers)
        answer = connection.getresponse()
        assert answer.read(8) == b"piece 0\n"  # long before the last one


def test_a_process_that_breaks_off_or_hangs_hurts_nobody_else(server: TeamServer):
    with pytest.raises(http.client.IncompleteRead):
        ask(server, "broken")
    hanging = [socket.create_connection(("127.0.0.1", server.boards_port)) for _ in range(20)]
    try:
        for one in hanging[:10]:
            one.sendall(_request(server, "hang"))
        for one in hanging[10:]:
            one.sendall(_request(server, "forever")[:-10])  # a client that never ends its headers
        assert ask(server, "echo").status == 200  # long before the others get a response, which is a minute later
        assert server.ask("/api/v1/boards", who=BOSS).status == 200
        for one in hanging[:10]:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)
    finally:
        for one in hanging:
            one.close()


def _request(server: TeamServer, path: str, *more: str, method: str = "GET") -> bytes:
    lines = [
        f"{method} /boards/{server.board}/{path} HTTP/1.1",
        f"Host: 127.0.0.1:{server.boards_port}",
        f"Authorization: Bearer {server.tokens[BOSS]}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    ("more", "body"),
    [
        (("Content-Length: 4", "Transfer-Encoding: chunked"), b"0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"),
        (("Content-Length: 4", "Content-Length: 5"), b"abcde"),
        (("Content-Length: +4",), b"abcd"),
        (("Transfer-Encoding: chunked, identity",), b"0\r\n\r\n"),
        (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"zz\r\nabc\r\n0\r\n\r\n"),
        (("Transfer-Encoding : chunked",), b"0\r\n\r\n"),
        (("X-Long: " + "a" * 100_000,), b""),
        (("Host: elsewhere",), b""),
    ],
)
def test_requests_that_two_could_read_differently_are_refused(server: TeamServer, more: tuple[str, ...], body: bytes):
    with socket.create_connection(("127.0.0.1", server.boards_port), timeout=60) as connection:
        connection.sendall(_request(server, "echo", "Connection: close", *more, method="POST") + body)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                answer += piece
    assert answer.split(b" ")[1][:1] == b"4" if answer else True
    assert answer.count(b"HTTP/1.1") <= 1
    assert b'"headers"' not in answer  # it did not reach the process


@pytest.mark.parametrize("path", ["../../api/v1/boards", "a/%2e%2e/b", "a//b", "a%5cb"])
def test_paths_that_mean_others_are_refused(server: TeamServer, path: str):
    assert ask(server, path).status == 400


def test_pages_of_others_change_nothing(server: TeamServer):
    assert ask(server, "echo", "POST", Origin="http://evil.example").status == 403
    assert ask(server, "echo", "POST", Origin=server.url).status == 403
    assert ask(server, "echo", "POST", Sec_Fetch_Site="same-site").status == 403
    assert ask(server, "echo", "POST", Origin=f"http://127.0.0.1:{server.boards_port}").status == 200
    assert ask(server, "echo", Host="evil.example").status == 421
    assert server.ask_board("/api/v1/boards", who=BOSS).status == 404


def test_both_sides_talk_over_websockets(server: TeamServer):
    url = f"http://127.0.0.1:{server.boards_port}/boards/{server.board}/talk"
    headers = {"Authorization": f"Bearer {server.tokens[BOSS]}"}

    async def talk() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(url, headers=headers, protocols=("chat",)) as connection:
                told = await connection.receive_json(timeout=60)
                assert "authorization" not in told
                assert connection.protocol == "chat"
                await connection.send_str("ä" * 100_000)
                assert await connection.receive_str(timeout=60) == "ä" * 100_000
                await connection.send_bytes(b"\0\1")
                assert await connection.receive_bytes(timeout=60) == b"\0\1"
                await connection.send_str("bye")
                assert (await connection.receive(timeout=60)).type is aiohttp.WSMsgType.CLOSE
                assert connection.close_code == 4001
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url)
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url, headers={**headers, "Origin": "http://evil.example"})

    asyncio.run(talk())


def test_a_process_that_is_gone_is_told(server: TeamServer):
    catalog = server.catalog
    unit = catalog.boards.get(server.board).unit
    handle = Local().find(unit)
    assert handle is not None
    assert ask(server, "echo").status == 200
    Local().stop(handle, grace=0)
    until(lambda: ask(server, "echo").status in (409, 502))
    until(lambda: catalog.boards.get(server.board).state is UnitState.FAILED)
