# SPDX-License-Identifier: Apache-2.0
"""The middleware that authenticates every request of a server and rejects forged ones.

A page on the internet can make a user's browser send requests to this server: through a name that resolves to its
address, so the Host header is checked; or with a form or script, so a change that carries only what browsers send by
themselves must prove by its Origin that a page of this server sent it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from urllib.parse import quote, unquote, urlencode

from aboard.api import PREFIX
from aboard.api.wire import to_failure
from aboard.errors import AboardError, CatalogUnavailable, Forbidden, InvalidValue, Unauthorized
from aboard.model.people import Access
from aboard.server.auth.authenticator import Authenticator, Principal, TooManyAttempts
from aboard.server.auth.pages import LoginPages
from aboard.server.http.addresses import ServerNames
from aboard.server.http.asgi import (
    ACCESS,
    ASGIApp,
    Message,
    Receive,
    Scope,
    Send,
    SimpleResponse,
    headers_of,
    json_response,
    text_response,
)
from aboard.server.http.limits import (
    ANONYMOUS_BYTES,
    BodyLimit,
    RequestLimiter,
    RequestTooLarge,
    TooManyRequests,
    end_when_revoked,
)

_log = logging.getLogger("aboard.server")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_EXCHANGE_PATH = f"{PREFIX}/login/exchange"
_PUBLIC_PATHS = frozenset({"/healthz", "/readyz", f"{PREFIX}/login"})
_FRESH_COOKIE_KEY = "aboard.fresh_secret"
_REQUEST_MARK = "x-aboard-request"
"""A header that no form and no script of another site can send."""
_LOGIN_HINT = "log in: open the address of the server in a browser, or `aboard login ADDRESS`"


class AuthMiddleware:
    """Authenticates requests and puts the user into their scope. Serves login pages itself."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        pages: LoginPages,
        names: ServerNames,
        limiter: RequestLimiter,
        *,
        largest_request: int = 64 << 20,
    ) -> None:
        self._app, self._authenticator, self._pages, self._names = app, authenticator, pages, names
        self._largest_request = largest_request
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        try:
            self._check_form(scope, headers)
            answer = await self._route(scope, headers, receive)
        except AboardError as error:
            answer = _error_response(scope, error)
        except Exception:
            _log.exception("Authentication of a request for %s failed", scope["path"])
            answer = _error_response(scope, AboardError("the server failed", hint="see its log"))
        if answer == self._app:
            most = self._largest_request if ACCESS in scope else ANONYMOUS_BYTES
            answer = BodyLimit(answer, most, _error_response)
            if ACCESS in scope:
                answer = self._limiter.with_slot(answer, scope[ACCESS].name, _error_response)
            if ACCESS in scope and scope["type"] == "http":
                receive = self._while_known(scope, headers, receive)
                send = self._with_fresh_cookie(scope, send)
        await answer(scope, receive, send)

    def _while_known(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> Receive:
        """To an answer that goes on, somebody whose rights have changed is as somebody who has gone."""
        began_with: Access = scope[ACCESS]

        async def is_the_same() -> bool:
            try:
                principal = await self._authenticator.authenticate(scope, headers)
            except CatalogUnavailable:
                return True
            except AboardError:
                return False
            return principal is not None and principal.access == began_with

        return end_when_revoked(receive, is_the_same)

    def _with_fresh_cookie(self, scope: Scope, send: Send) -> Send:
        secret: str | None = scope.get(_FRESH_COOKIE_KEY)
        if secret is None:
            return send

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                name, value = self._pages.cookie_for(secret)
                message = {**message, "headers": [*message.get("headers", ()), (name.encode(), value.encode())]}
            await send(message)

        return sending

    async def _exchange(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application, whose refusal is a failed attempt, also of what it cannot read."""
        wait = self._authenticator.wait_seconds(scope)
        is_refused = False

        async def sending(message: Message) -> None:
            nonlocal is_refused
            if message["type"] == "http.response.start":
                is_refused = 400 <= message["status"] < 500
            if not (is_refused and wait):
                await send(message)

        await BodyLimit(self._app, ANONYMOUS_BYTES, _error_response)(scope, receive, sending)
        if is_refused and wait:
            await _error_response(scope, TooManyAttempts(wait))(scope, receive, send)
        elif is_refused:
            self._authenticator.count_failure(scope)

    async def _route(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> ASGIApp:
        path: str = scope["path"]
        if path in _PUBLIC_PATHS:
            return self._app
        if path == _EXCHANGE_PATH:
            return self._exchange
        if scope["type"] == "http" and scope["method"] == "GET" and b"token=" in scope["query_string"]:
            shown = await self._pages.redeem_code(scope, headers)
            if shown is not None:
                return shown
        if self._pages.is_open(path):
            if scope["type"] == "http" and scope["method"] not in _SAFE_METHODS:
                _check_site(headers)
            return await self._pages.answer(scope, headers, receive, None)
        try:
            principal = await self._authenticator.authenticate(scope, headers)
        except TooManyAttempts:
            if not self._wants_page(scope, headers):
                raise
            principal = None  # a person whose session has ended can log in whatever others try
        if principal is None:
            return self._unknown(scope, headers)
        self._check_origin(scope, headers, principal)
        scope[ACCESS] = principal.access
        if self._pages.has(path):
            return await self._pages.answer(scope, headers, receive, principal.access)
        if principal.by_cookie and scope["type"] == "http":
            scope[_FRESH_COOKIE_KEY] = await self._authenticator.renew_session(headers)
        return self._app

    def _check_form(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Refuse what no honest client sends, before anything is made of it."""
        check_path(scope)
        host = headers.get("host", "")
        if not self._names.has(host):
            hint = "use the address that was printed; who runs the server can allow other names with serve.hosts"
            raise MisdirectedRequest(f"host {host!r} is not served here", hint=hint)
        origin = headers.get("origin")
        is_change = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        if is_change and origin is not None and not self._names.is_own_origin(origin, host):
            raise Forbidden(f"requests from {origin!r} are not accepted")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise InvalidValue(f"content-length {length!r} is no number")
        if int(length[:20]) > self._largest_request:
            raise RequestTooLarge(f"a request has at most {self._largest_request:,} bytes")

    def _check_origin(self, scope: Scope, headers: Mapping[str, str], principal: Principal) -> None:
        """A browser's own request must show where it comes from; an Origin that is there was looked at."""
        is_change = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        if not (principal.by_cookie and is_change):
            return
        _check_site(headers)
        if "origin" not in headers and _REQUEST_MARK not in headers and "sec-fetch-site" not in headers:
            raise Forbidden("this request does not say which page sent it", hint=f"send Origin, or {_REQUEST_MARK}: 1")

    def _unknown(self, scope: Scope, headers: Mapping[str, str]) -> ASGIApp:
        """A person is led to the login page, a program is told."""
        if self._wants_page(scope, headers):
            query = scope["query_string"].decode("latin-1")
            wanted = quote(scope["path"], safe="/") + (f"?{query}" if query else "")
            return SimpleResponse(303, headers=[("location", f"/login?{urlencode({'next': wanted})}")])
        raise Unauthorized("a token is needed", hint=_LOGIN_HINT)

    def _wants_page(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        is_page = "text/html" in headers.get("accept", "") and scope["type"] == "http" and scope["method"] == "GET"
        return is_page and not scope["path"].startswith("/api/") and self._pages.can_log_in


def _check_site(headers: Mapping[str, str]) -> None:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Forbidden("requests of other sites are not accepted")


class MisdirectedRequest(Forbidden):
    """A request for a host that is not this server."""

    status = 421


def check_path(scope: Scope) -> None:
    """A path that means another one after somebody cleans it up is for getting past somebody who does not."""
    path: str = scope["path"]
    raw = bytes(scope.get("raw_path") or path.encode("utf-8", "surrogateescape")).decode("latin-1")
    parts = unquote(raw.partition("?")[0]).split("/")
    is_odd = any(part in (".", "..") for part in parts) or "" in parts[1:-1]
    if is_odd or "\\" in path or any(ord(character) < 32 or ord(character) == 127 for character in path):
        raise InvalidValue("this path is not plain", hint="leave out '//', '.', '..', backslashes, control characters")


def _error_response(scope: Scope, error: AboardError) -> SimpleResponse:
    """In words for a person, and as a document for a program."""
    headers = [("retry-after", str(error.seconds))] if isinstance(error, TooManyAttempts | TooManyRequests) else []
    if isinstance(error, Unauthorized):
        headers.append(("www-authenticate", "Bearer"))
    if scope["path"].startswith("/api/"):
        plain = json_response(to_failure(error), error.status)
    else:
        plain = text_response(error.status, f"{error.message}{': ' if error.hint else ''}{error.hint}\n")
    return SimpleResponse(plain.status, plain.body, plain.content_type, headers)
