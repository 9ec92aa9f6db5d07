# SPDX-License-Identifier: Apache-2.0
"""Listening sockets, on the requested port or the next free one, and dispatch between two ports of one server."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Awaitable, Callable

from aboard.errors import InvalidValue
from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send

FIRST_PORT, LAST_PORT = 6006, 6998
EVERYWHERE = ""
"""As a host: all addresses of this machine, those of IPv6 too where it has it."""

_HINTS = {
    errno.EADDRINUSE: "leave out --port to get the next free one; an aboard server also takes the port after its own",
    errno.EACCES: "ports below 1024 need special rights; take another, or leave out --port",
    errno.EADDRNOTAVAIL: "this machine has no such address; try 127.0.0.1, or --bind_all",
}


def listen(host: str, port: int | None, *, reuse_port: bool = False) -> socket.socket:
    """A socket that accepts connections; without a port the first free one from 6006 on, 0 means any."""
    ports = range(FIRST_PORT, LAST_PORT + 1) if port is None else [port]
    for candidate in ports:
        try:
            return _bind(host, candidate, reuse_port=reuse_port)
        except OSError as error:
            if port is not None or error.errno != errno.EADDRINUSE:
                raise InvalidValue(
                    f"cannot listen on {_with_port(host or 'all addresses', candidate)}: {error.strerror}",
                    hint=_HINTS.get(error.errno or 0, ""),
                ) from error
    raise InvalidValue(f"no port from {FIRST_PORT} to {LAST_PORT} is free on {host}", hint="--port 0 takes any")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_of(listener: socket.socket, path: str = "/") -> str:
    """An address that a browser on this machine can open."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = socket.gethostname()
    return f"http://{_with_port(host, port)}{path}"


def _bind(host: str, port: int, *, reuse_port: bool) -> socket.socket:
    if host == EVERYWHERE and socket.has_dualstack_ipv6():
        family, address = socket.AF_INET6, ("::", port)
    else:
        family, address = _resolve(host or "0.0.0.0", port)  # noqa: S104 - asked for
    # With the protocol named, asyncio sends small answers at once; else each waits 40 ms for the client to confirm.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if host == EVERYWHERE and family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(512)
    except OSError:
        listener.close()
        raise
    return listener


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str | int, ...] | tuple[int, bytes]]:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise InvalidValue(f"host {host!r} has no address: {error}", hint="try 127.0.0.1") from error
    return family, address


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class PortDispatcher:
    """Dispatches requests on the port of `second` to it, and all others and the lifespan to `first`."""

    def __init__(self, first: ASGIApp, second: ASGIApp, port: int, close: Callable[[], Awaitable[None]]) -> None:
        self._first, self._second, self._port, self._close = first, second, port, close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            try:
                await self._first(scope, receive, send)
            finally:
                await self._close()
            return
        is_second = (scope.get("server") or ("", 0))[1] == self._port
        await (self._second if is_second else self._first)(scope, receive, send)
