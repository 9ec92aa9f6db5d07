# SPDX-License-Identifier: Apache-2.0
"""One request and its answer, over HTTP, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from aboard.api import PREFIX
from aboard.api.wire import from_failure, from_wire, to_wire
from aboard.errors import InvalidValue, ServerUnavailable
from aboard.version import __version__

_T = TypeVar("_T")
Query = Mapping[str, object]
_JSON = "application/json"
_READING_TRIES = 3
_PAUSE_SECONDS = 0.2
_LARGEST_ANSWER = 1 << 30
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and what opens it."""

    url: str
    token: str | None = None

    @classmethod
    def of(cls, url: str, token: str | None) -> Address:
        """The address that a person names; a path below which the server is may follow the host."""
        given = url if "://" in url else f"http://{url}"
        try:
            parts = urllib.parse.urlsplit(given)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_address = False
        if not is_address:
            raise InvalidValue(f"{url!r} is not the address of a server", hint="write http://host:port")
        return cls(given.split("?")[0].split("#")[0].rstrip("/"), token)

    @property
    def is_loopback(self) -> bool:
        return urllib.parse.urlsplit(self.url).hostname in _LOOPBACK


def quote_path_part(name: str) -> str:
    """A name as one part of a path; escaped twice, because servers take paths apart after unescaping them once."""
    return urllib.parse.quote(urllib.parse.quote(name, safe=""), safe="")


class Transport:
    """Sends requests to one address. `renew` gives another one when nobody listens there any more."""

    def __init__(self, address: Address, *, timeout: float = 60.0, renew: Callable[[], Address] | None = None) -> None:
        self.address = address
        self._timeout = timeout
        self._renew = renew
        # A proxy of the company has no business with this machine.
        proxies = urllib.request.ProxyHandler({}) if address.is_loopback else urllib.request.ProxyHandler()
        self._opener = urllib.request.build_opener(proxies, _NoRedirects())

    def get(self, kind: type[_T], path: str, query: Query | None = None) -> _T:
        """Ask for something. Asked again when the connection broke: reading twice does no harm."""
        return self._decode(kind, self.bytes(path, query, accept=_JSON))

    def bytes(self, path: str, query: Query | None = None, *, accept: str = "*/*") -> bytes:
        """As `get`, for an answer that is no document."""
        for tries_left in reversed(range(_READING_TRIES)):
            try:
                return self._request("GET", path, query, None, None, accept)
            except ServerUnavailable:
                if not tries_left:
                    raise
                time.sleep(_PAUSE_SECONDS)
        raise AssertionError  # the last try returns or raises

    def send(self, kind: type[_T], method: str, path: str, body: object = None, *, timeout: float | None = None) -> _T:
        """Have something changed; asked once, because a change whose answer was lost may have happened."""
        data = b"" if body is None else json.dumps(to_wire(body)).encode()
        return self._decode(kind, self._request(method, path, None, data, timeout, _JSON))

    def _request(
        self, method: str, path: str, query: Query | None, body: bytes | None, timeout: float | None, accept: str
    ) -> bytes:
        try:
            return self._exchange(method, path, query, body, timeout, accept)
        except ServerUnavailable as error:
            # Nothing was sent to who did not listen, so even a change can be asked for once more.
            if self._renew is None or not isinstance(_cause(error), ConnectionRefusedError):
                raise
            self.address = self._renew()
            return self._exchange(method, path, query, body, timeout, accept)

    def _exchange(
        self, method: str, path: str, query: Query | None, body: bytes | None, timeout: float | None, accept: str
    ) -> bytes:
        url = f"{self.address.url}{PREFIX}/{path}"
        if query and (pairs := list(_pairs(query))):
            url = f"{url}?{urllib.parse.urlencode(pairs)}"
        headers = {"Accept": accept, "User-Agent": f"aboard/{__version__}"}
        if body:
            headers["Content-Type"] = "application/json"
        if self.address.token:
            headers["Authorization"] = f"Bearer {self.address.token}"
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310 - only http and https get here
        try:
            with self._opener.open(request, timeout=timeout or self._timeout) as response:
                return response.read(_LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            raise _error_from_response(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServerUnavailable(
                f"the server at {self.address.url} does not answer: {reason}",
                hint="see that it runs and that ABOARD_SERVER names it; without ABOARD_SERVER a private one is started",
            ) from error

    def _decode(self, kind: type[_T], answer: bytes) -> _T:
        try:
            return from_wire(kind, json.loads(answer), "the answer")
        except (ValueError, RecursionError) as error:
            raise ServerUnavailable(
                f"the answer of {self.address.url} cannot be understood: {error}",
                hint="see that an aboard server is there, and that it is not older than this program",
            ) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to wherever it leads."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


def _cause(error: ServerUnavailable) -> object:
    cause = error.__cause__
    return cause.reason if isinstance(cause, urllib.error.URLError) else cause


def _error_from_response(error: urllib.error.HTTPError) -> Exception:
    with error:
        try:
            text = error.read(1 << 20)
        except (OSError, http.client.HTTPException):
            text = b""
    try:
        document: object = json.loads(text)
    except ValueError:
        document = None
    return from_failure(document, error.code, text.decode("utf-8", "replace")[:300].strip() or str(error.reason))


def _pairs(query: Query) -> Iterable[tuple[str, str]]:
    """What is None or empty is left out; of several values each stands for itself."""
    for name, value in query.items():
        values = value if isinstance(value, (list, tuple)) else (value,)  # pyright: ignore[reportUnknownVariableType]
        for one in values:  # pyright: ignore[reportUnknownVariableType]
            if one is not None and one is not False and one != "":
                yield name, "true" if one is True else str(one)  # pyright: ignore[reportUnknownArgumentType]
