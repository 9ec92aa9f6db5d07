# SPDX-License-Identifier: Apache-2.0
"""The second origin, where boards that are processes are proxied, apart from the API.

A browser arrives from a board page of the first origin with a one-time code. The code becomes a cookie that is valid
for this board alone and that the API does not accept. Neither reaches the process.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from aboard.errors import AboardError, CatalogUnavailable, Forbidden, InvalidValue, Unauthorized, UnknownName
from aboard.model.people import Access
from aboard.server.auth.authenticator import Authenticator, Cookie, TooManyAttempts
from aboard.server.auth.middleware import MisdirectedRequest, check_path
from aboard.server.http.addresses import PathPrefixMiddleware, ServerNames
from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send, SimpleResponse, headers_of, text_response
from aboard.server.http.limits import BodyLimit, RequestLimiter, TooManyRequests, end_when_revoked
from aboard.services.services import Services

if TYPE_CHECKING:
    from aboard.server.boards.forwarding import Forwarder


_log = logging.getLogger("aboard.server")
_BOARD_PATH = re.compile(r"/boards/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(/.*)?")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
CODE_PARAMETER = "aboard_code"
_COOKIE_SECONDS = 24 * 3600
_BOARD_HINT = "boards that are processes are at /boards/<id>/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOrigin:
    """The address of the second origin, and that of the first one for redirects to it."""

    port: int
    names: ServerNames
    front: str
    """The address of the first origin, where it is settled; else it is on `front_port` of the same name."""
    front_port: int
    largest_request: int = 64 << 20

    def front_url(self, host: str) -> str:
        """The first origin, for somebody who asked this one by a Host header."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return self.front or f"http://{name}:{self.front_port}"


class BoardProxy:
    """The ASGI application of the second origin. It authenticates tokens as the first origin does."""

    def __init__(
        self,
        control: Services,
        authenticator: Authenticator,
        place: SecondOrigin,
        framed_by: str,
        limiter: RequestLimiter,
    ) -> None:
        self._control, self._authenticator, self._place, self._framed_by = control, authenticator, place, framed_by
        self._limiter = limiter
        self._below = PathPrefixMiddleware(self._within, place.names.prefix)

    async def close(self) -> None:
        """Leave what processes were asked."""
        if "_forwarding" in self.__dict__:
            await self._forwarding.close()

    @functools.cached_property
    def _forwarding(self) -> Forwarder:
        from aboard.server.boards.forwarding import Forwarder

        return Forwarder(self._framed_by)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            await self._below(scope, receive, send)

    async def _within(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._route(scope, headers_of(scope))
            await BodyLimit(answer, self._place.largest_request, _error_response)(scope, receive, send)
        except AboardError as error:
            await _error_response(scope, error)(scope, receive, send)
        except Exception:
            _log.exception("%s on the origin of boards failed", scope["path"])
            await _error_response(scope, AboardError("the server failed", hint="see its log"))(scope, receive, send)

    async def _route(self, scope: Scope, headers: Mapping[str, str]) -> ASGIApp:
        if scope["path"] == "/healthz":
            return text_response(200, "ok\n")
        self._check_form(scope, headers)
        found = _BOARD_PATH.fullmatch(scope["path"])
        if found is None:
            raise UnknownName("there is nothing at this address", hint=_BOARD_HINT)
        board_id, rest = found[1], found[2]
        is_page = scope["type"] == "http" and scope["method"] == "GET"
        if is_page and rest is None:
            return _redirect(f"/boards/{board_id}/", scope["query_string"].decode("latin-1"))
        if is_page and f"{CODE_PARAMETER}=".encode() in scope["query_string"]:
            return await self._redeem_code(scope, headers, board_id)
        wants_page = is_page and "text/html" in headers.get("accept", "")
        try:
            access = await self._authenticate(scope, headers, board_id)
        except TooManyAttempts:
            if not wants_page:
                raise
            access = None  # the first origin knows who it is, or asks for a login
        if access is None:
            if wants_page:
                front = self._place.front_url(headers.get("host", ""))
                return _redirect(f"{front}{quote(scope['path'], safe='/')}", scope["query_string"].decode("latin-1"))
            raise Unauthorized("a token is needed", hint="open the board from the server, or send a token")
        processes = self._control.processes
        target = processes.find_known(board_id, access) or await self._authenticator.on_thread(
            lambda: processes.find(board_id, access)
        )
        endpoint = target.endpoint
        assert endpoint is not None

        async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
            async def may_stay() -> bool:
                return await self._may_stay(scope, headers, board_id)

            if scope["type"] == "http":
                await self._forwarding.http(board_id, endpoint, scope, end_when_revoked(receive, may_stay), send)
            else:
                used = lambda: processes.use(board_id)  # noqa: E731
                await self._forwarding.websocket(
                    board_id, endpoint, scope, end_when_revoked(receive, may_stay), send, used
                )

        return self._limiter.counted(pass_on, access.name, _error_response)

    def _check_form(self, scope: Scope, headers: Mapping[str, str]) -> None:
        check_framing(scope["headers"])
        check_path(scope)
        host, names = headers.get("host", ""), self._place.names
        if not names.has(host):
            hint = "who runs the server can allow other names with serve.hosts and serve.boards_url"
            raise MisdirectedRequest(f"host {host!r} is not served here", hint=hint)
        origin = headers.get("origin")
        is_change = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        if is_change and origin is not None and not names.is_own_origin(origin, host):
            raise Forbidden(f"requests from {origin!r} are not accepted")
        if is_change and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Forbidden("requests of other sites are not accepted")

    async def _redeem_code(self, scope: Scope, headers: Mapping[str, str], board_id: str) -> ASGIApp:
        """The code becomes a cookie and leaves the address, before the process hears anything."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        code = next((value for name, value in query if name == CODE_PARAMETER), "")
        try:
            secret = await self._authenticator.attempt(scope, lambda: self._control.logins.begin_board(code, board_id))
        except TooManyAttempts:
            if await self._authenticate(scope, headers, board_id) is None:
                raise
            secret = None
        rest = urlencode([pair for pair in query if pair[0] != CODE_PARAMETER])
        if secret is None:
            if await self._authenticate(scope, headers, board_id) is None:
                front = f"{self._place.front_url(headers.get('host', ''))}/boards/{board_id}/"
                raise Unauthorized("this address has been used already, or is too old", hint=f"open {front}")
            return _redirect(quote(scope["path"], safe="/"), rest)
        return _redirect(quote(scope["path"], safe="/"), rest, [self._cookie(board_id).header(secret, _COOKIE_SECONDS)])

    async def _authenticate(self, scope: Scope, headers: Mapping[str, str], board_id: str) -> Access | None:
        if headers.get("authorization", "").lower().startswith("bearer "):
            principal = await self._authenticator.authenticate(scope, headers)
            return None if principal is None else principal.access
        secret = self._cookie(board_id).read(headers)
        if not secret:
            return None
        logins = self._control.logins
        known = logins.peek_board(secret, board_id)
        if known is not None:
            return known
        return await self._authenticator.attempt(scope, lambda: logins.of_board_session(secret, board_id))

    async def _may_stay(self, scope: Scope, headers: Mapping[str, str], board_id: str) -> bool:
        """Whether an answer that goes on, or a connection, may go on."""
        try:
            access = await self._authenticate(scope, headers, board_id)
            if access is None:
                return False
            await self._authenticator.on_thread(lambda: self._control.processes.find(board_id, access))
        except CatalogUnavailable:
            return True
        except AboardError:
            return False
        return True

    def _cookie(self, board_id: str) -> Cookie:
        names = self._place.names
        return Cookie.of_board(board_id, self._place.port, is_secure=names.is_secure, below=names.prefix)


def _redirect(path: str, query: str, headers: list[tuple[str, str]] | None = None) -> SimpleResponse:
    location = f"{path}?{query}" if query else path
    return SimpleResponse(303, headers=[("location", location), ("cache-control", "no-store"), *(headers or [])])


def _error_response(scope: Scope, error: AboardError) -> SimpleResponse:
    headers = [("x-content-type-options", "nosniff"), ("cache-control", "no-store")]
    if isinstance(error, TooManyAttempts | TooManyRequests):
        headers.append(("retry-after", str(error.seconds)))
    if isinstance(error, InvalidValue):
        headers.append(("connection", "close"))  # what follows on it may not be what it seems
    plain = text_response(error.status, f"{error.message}{': ' if error.hint else ''}{error.hint}\n")
    return SimpleResponse(plain.status, plain.body, plain.content_type, headers)


def check_framing(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a request of whose length two who read it could think differently."""
    named = [(name.lower(), value) for name, value in headers]
    lengths = [value for name, value in named if name == b"content-length"]
    codings = [value for name, value in named if name == b"transfer-encoding"]
    if codings and lengths:
        raise InvalidValue("a request has either content-length or transfer-encoding", hint="send one of them")
    if len(lengths) > 1 or len(codings) > 1:
        raise InvalidValue("the length of this request is told twice", hint="tell it once")
    if codings and codings[0].strip().lower() != b"chunked":
        raise InvalidValue(f"transfer-encoding {codings[0]!r} is not understood", hint="chunked is")
    if lengths and not lengths[0].isdigit():
        raise InvalidValue(f"content-length {lengths[0]!r} is no number")
