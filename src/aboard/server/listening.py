# SPDX-License-Identifier: Apache-2.0
"""A listening socket on the wanted port, or on the next free one."""

from __future__ import annotations

import errno
import ipaddress
import socket

from aboard.errors import InvalidValue

FIRST_PORT, LAST_PORT = 6006, 6998


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that accepts connections; without a port the first free one from 6006 on, 0 means any."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidValue(f"host {host!r} has no address: {error}", hint="try 127.0.0.1") from error
    ports = range(FIRST_PORT, LAST_PORT + 1) if port is None else [port]
    for candidate in ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], candidate))
            listener.listen(512)
        except OSError as error:
            listener.close()
            if port is not None or error.errno != errno.EADDRINUSE:
                raise InvalidValue(
                    f"cannot listen on {host}:{candidate}: {error.strerror}",
                    hint="leave out --port to get the next free one" if error.errno == errno.EADDRINUSE else "",
                ) from error
        else:
            return listener
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
    return f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"
