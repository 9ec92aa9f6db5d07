# SPDX-License-Identifier: Apache-2.0
"""Addresses in requests: accepted hosts and origins, the path prefix, safe redirect targets, client addresses.

A page on the internet can make a browser send requests to a server through a name that resolves to its address
(DNS rebinding). Only known names are accepted in Host headers. Plain addresses are safe when others can reach the
server anyway. Reverse proxies either pass the path prefix on or strip it; both work, because no route of the server
starts with the prefix (`config.parsing.site` checks that). Forwarding headers count only from trusted proxies.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlsplit

from aboard.server.http.asgi import ASGIApp, Message, Receive, Scope, Send, SimpleResponse, headers_of

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNames:
    """The host names of one server. `any_address`: other machines can reach it by plain addresses."""

    names: frozenset[str]
    any_address: bool
    origins: frozenset[str] = frozenset()
    url: str = ""
    """The address under which people reach it, where that is settled."""

    @classmethod
    def of(cls, host: str, *, is_loopback: bool, url: str, hosts: Iterable[str], origins: Iterable[str]) -> Self:
        """The names of a server that listens on `host`."""
        own = {*_LOOPBACK, host.lower(), *(name.lower() for name in hosts)}
        if url:
            own.add(urlsplit(url).hostname or "")
        if not is_loopback:
            own |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return cls(names=frozenset(own), any_address=not is_loopback, origins=frozenset(origins), url=url)

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it over TLS."""
        return self.url.startswith("https://")

    @property
    def prefix(self) -> str:
        """The path below which people reach it."""
        return prefix_of(self.url)

    def has(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = _host_name(host)
        return name in self.names or (self.any_address and _is_address(name))

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this server, or one that was allowed, sends a request to `host`."""
        if origin.lower() in self.origins or (self.url and origin.lower() == origin_of(self.url)):
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and bool(parts.netloc) and parts.netloc.lower() == host.lower()


def origin_of(url: str) -> str:
    """Scheme, host and port of an address; nothing of nothing."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower() if url else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _host_name(host: str) -> str:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name.strip("[]").lower()


def prefix_of(url: str) -> str:
    """The path below which people reach a server, without a slash at its end; empty for a site of its own."""
    return urlsplit(url).path.rstrip("/")


class PathPrefixMiddleware:
    """Strips the path prefix from requests and adds it to redirects."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix
        self._raw = prefix.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._prefix or scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if scope["path"] == self._prefix and scope["type"] == "http":
            await self._front(scope)(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [self._placed(*pair) for pair in message.get("headers", ())]}
            await send(message)

        await self._app(self._without(scope), receive, sending)

    def _front(self, scope: Scope) -> SimpleResponse:
        query = scope["query_string"].decode("latin-1")
        return SimpleResponse(308, headers=[("location", f"{self._prefix}/{'?' if query else ''}{query}")])

    def _without(self, scope: Scope) -> Scope:
        path: str = scope["path"]
        raw: bytes = scope.get("raw_path") or b""
        if not path.startswith(f"{self._prefix}/") or (raw and not raw.startswith(self._raw + b"/")):
            return scope
        return {**scope, "path": path[len(self._prefix) :], "raw_path": raw[len(self._raw) :]}

    def _placed(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        is_local = value.startswith(b"/") and not value.startswith((b"//", self._raw + b"/"))
        return name, self._raw + value if name.lower() == b"location" and is_local else value


_UNQUOTED = "/:@!$&'()*+,;=~%-._"


def safe_redirect_path(wanted: str) -> str:
    r"""`wanted` if it is a path on this server, or its front page. Browsers take '//' and '/\' for other servers."""
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    if not is_local or any(ord(character) < 33 or character == "\\" for character in wanted):
        return "/"
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return "/"
    if parts.scheme or parts.netloc or parts.path.startswith("//"):
        return "/"
    path = quote(parts.path, safe=_UNQUOTED)
    return f"{path}?{quote(parts.query, safe=_UNQUOTED + '?')}" if parts.query else path


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class TrustedProxies:
    """The reverse proxies before a server, by their addresses."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(one) for one in networks]

    def sent(self, scope: Scope) -> bool:
        """Whether a request comes from one of them."""
        peer = _parse_address((scope.get("client") or ("",))[0])
        return peer is not None and self._has(peer)

    def client(self, scope: Scope) -> str:
        """The address of who asks: of the last one in the chain that is not a proxy."""
        peer = str((scope.get("client") or ("",))[0])
        if not self.sent(scope):
            return peer
        told = headers_of(scope).get("x-forwarded-for", "")
        for text in reversed([part.strip() for part in told.split(",") if part.strip()]):
            found = _parse_address(text)
            if found is None:
                return peer
            if not self._has(found):
                return str(found)
        return peer

    def _has(self, address: _Address) -> bool:
        return any(address.version == one.version and address in one for one in self._networks)


def _parse_address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def network_of(address: str) -> str:
    """Who an address stands for: of IPv6 the network, because one person has as many addresses as they like."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
