# SPDX-License-Identifier: Apache-2.0
"""`/boards/<id>/`: the pages of boards that this process hosts, and redirects to those that are processes.

`/proxy/<id>/` redirects there, and so do names and id prefixes. Shared frontend files are below `/_tb/`. Every address
is relative, so the server works behind any path prefix of a reverse proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from aboard.errors import AboardError, Conflict
from aboard.model.boards import BoardKind, BoardRecord
from aboard.model.people import Access
from aboard.server.boards.second_origin import CODE_PARAMETER
from aboard.server.boards.wsgi import ENVIRONMENT, SLOT, Environment, WSGIBridge
from aboard.server.http.asgi import Receive, Scope, Send, SimpleResponse, headers_of, text_response
from aboard.services.boards.hosting import check_running
from aboard.services.services import Services

if TYPE_CHECKING:
    from aboard.services.boards.hosted_board import HostedBoard


_T = TypeVar("_T")
_WORKERS, _AT_ONCE_OF_ONE = 32, 8  # pictures in a slow store may keep one board waiting, and no other
_OPENING_THREADS = 8
_WHOLE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ACCESS = "aboard.access"
PATHS = ("/boards/", "/proxy/", "/_tb/")


class BoardPages:
    """An ASGI application for the paths that begin with one of `PLACES`."""

    def __init__(
        self,
        control: Services,
        access_of: Callable[[Scope], Access],
        second_origin: Callable[[str], str] | None = None,
    ) -> None:
        """`second_origin`: where boards that are processes are, for who asked by a Host header."""
        self._control, self._access_of, self._second_origin = control, access_of, second_origin
        self._bridge: WSGIBridge | None = None
        self._openers = ThreadPoolExecutor(_OPENING_THREADS, "aboard-opening")
        self._turns: WeakKeyDictionary[HostedBoard, asyncio.Semaphore] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except AboardError as error:
            words = f"{error.message}{': ' if error.hint else ''}{error.hint}\n"
            await text_response(error.status, words)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        place, _, below = path.lstrip("/").partition("/")
        board_id, _, rest = below.partition("/")
        if place == "_tb":
            bridge = self._bridge or await self._run(self._make_bridge)
            await bridge(scope, receive, send)
            return
        access = self._access_of(scope)
        boards = self._control.boards
        if place == "proxy" or _WHOLE_ID.fullmatch(board_id) is None:
            board = await self._run(boards.get, board_id, access)
            await _redirect(scope, path, f"boards/{board.id}/{rest}")(scope, receive, send)
            return
        hosting = self._control.hosting
        hosted = hosting.use_open(board_id, access)
        if hosted is None:
            board = await self._run(boards.get, board_id, access)
            if board.kind is BoardKind.PROCESS:
                await (await self._run(self._elsewhere, scope, board, rest, access))(scope, receive, send)
                return
            hosted = await self._run(hosting.use, board_id, access)
        bridge = self._bridge or await self._run(self._make_bridge)
        turn = self._turns.setdefault(hosted, asyncio.Semaphore(_AT_ONCE_OF_ONE))
        await bridge({**scope, SLOT: turn, ENVIRONMENT: {_ACCESS: access}}, receive, send)

    def _elsewhere(self, scope: Scope, board: BoardRecord, rest: str, access: Access) -> SimpleResponse:
        """Lead a browser to the second origin, with a code that opens this board there, once."""
        check_running(board)
        if self._second_origin is None:
            raise Conflict("this server shows no boards that are processes", hint="make one in the server")
        headers = headers_of(scope)
        # A page of another site could have had a browser ask: it gets the address, but no script can read the code.
        code = self._control.logins.code_for_board(access, board)
        query = [scope["query_string"].decode("latin-1"), urlencode({CODE_PARAMETER: code})]
        target = f"{self._second_origin(headers.get('host', ''))}/boards/{board.id}/{quote(rest)}"
        location = f"{target}?{'&'.join(part for part in query if part)}"
        return SimpleResponse(303, headers=[("location", location), ("cache-control", "no-store")])

    async def _run(self, work: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._openers, work, *arguments)

    def _make_bridge(self) -> WSGIBridge:
        # TensorBoard is loaded when the first board is asked for.
        from aboard.board.hosting import BoardDispatcher

        hosting = self._control.hosting

        def answer(environ: Environment, start_response: Any) -> Iterable[bytes]:
            with contextlib.ExitStack() as stack:
                # Asked for anew on the thread that answers: the board may have been stopped while it was waited for.
                dispatcher = BoardDispatcher(
                    lambda board_id: stack.enter_context(hosting.held(board_id, environ[_ACCESS])).app
                )
                parts = dispatcher(environ, start_response)
                stack.callback(getattr(parts, "close", lambda: None))
                return list(parts)  # here: a plugin may read the runs as its answer is taken

        if self._bridge is None:
            self._bridge = WSGIBridge(answer, workers=_WORKERS)
        return self._bridge


def _redirect(scope: Scope, path: str, target: str) -> SimpleResponse:
    """Relative, as a proxy may have put anything before the path."""
    up = "../" * (path.count("/") - 1) or "./"
    query = scope["query_string"].decode("latin-1")
    location = up + quote(target) + (f"?{query}" if query else "")
    return SimpleResponse(307, headers=[("location", location)])
