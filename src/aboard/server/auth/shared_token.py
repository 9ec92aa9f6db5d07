# SPDX-License-Identifier: Apache-2.0
"""The middleware of `aboard view`: one shared token, and checks of Host and Origin.

A page on the internet can make a user's browser send requests to a server on loopback: through a name that resolves
to 127.0.0.1 (so the Host header is checked), with a form (so the Origin of changes is checked), or with an image or
script (so what a browser calls cross-site is refused, except for addresses that a person opens).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from aboard.api.wire import to_failure
from aboard.errors import AboardError, Forbidden, Unauthorized
from aboard.server.http.asgi import (
    ASGIApp,
    Receive,
    Scope,
    Send,
    SimpleResponse,
    headers_of,
    json_response,
    text_response,
)

_ACCESS_HINT = "open the address that was printed at the start, or set ABOARD_TOKEN to what stands behind token="
_OPEN_HINT = "Open the address itself."
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC_PATHS = frozenset({"/healthz", "/readyz"})
_UNQUOTED = "/:@!$&'()*+,;=~"


class SharedTokenMiddleware:
    """Accepts requests whose Host is in `hosts` (None: any) and that carry the token, if there is one.

    With `read_only` it refuses every request that could change something.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str] | None,
        token: str | None,
        cookie: str,
        read_only: bool = False,
    ) -> None:
        self._app, self._hosts, self._token, self._cookie = app, hosts, token, cookie
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> SimpleResponse | None:
        headers = headers_of(scope)
        host = headers.get("host", "")
        if self._hosts is not None and _host_name(host) not in self._hosts:
            return error_response(
                scope, 421, Forbidden(f"host {host!r} is not served here", hint="use the address that was printed")
            )
        if scope.get("method") not in _SAFE_METHODS:
            origin = headers.get("origin")
            if origin is not None and _host_of(origin) != host:
                return error_response(scope, 403, Forbidden(f"Requests from {origin!r} are not accepted."))
            if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
                return error_response(scope, 403, Forbidden("Requests of other sites are not accepted."))
            if self._read_only:
                hint = "Run `aboard view` in a terminal to change names, tags and notes."
                return error_response(scope, 403, Forbidden("A page in a notebook is read-only.", hint=hint))
        elif self._token is None and _is_part_of_other_site(headers):
            return error_response(scope, 403, Forbidden("Pages of other sites cannot include this.", hint=_OPEN_HINT))
        if self._token is None or scope["path"] in _PUBLIC_PATHS or self._knows_token(headers):
            return None
        return self._first_visit(scope)

    def _knows_token(self, headers: Mapping[str, str]) -> bool:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(bearer):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _first_visit(self, scope: Scope) -> SimpleResponse:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not any(name == "token" and self._is_token(value) for name, value in query):
            return error_response(scope, 401, Unauthorized("a token is needed", hint=_ACCESS_HINT))
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        address = quote("/" + scope["path"].lstrip("/"), safe=_UNQUOTED)
        cookie = f"{self._cookie}={self._token}; HttpOnly; Path=/; SameSite=strict"
        return SimpleResponse(
            303, headers=[("location", f"{address}?{rest}" if rest else address), ("set-cookie", cookie)]
        )

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())


def error_response(scope: Scope, status: int, error: AboardError) -> SimpleResponse:
    """In words for a person, and as a document for a program."""
    if scope["path"].startswith("/api/"):
        return json_response(to_failure(error), status)
    return text_response(status, f"{error.message}{': ' if error.hint else ''}{error.hint}\n")


def _host_of(origin: str) -> str:
    """Host and port of an origin; nothing of what is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _is_part_of_other_site(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site loads this as an image, script or the like. It may link to it and frame it."""
    is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") not in ("object", "embed")
    return headers.get("sec-fetch-site") == "cross-site" and not is_opened


def _host_name(host: str) -> str:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name.strip("[]").lower()
