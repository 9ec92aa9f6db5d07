# SPDX-License-Identifier: Apache-2.0
"""By which names a server may be asked, and whose pages may ask it for changes.

A page on the internet can have a person's browser ask a server by a name that resolves to its address. Such a name is
one that the server does not know; a plain address cannot be such a name.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from aboard.server.path_prefix import prefix_of

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNames:
    """The names of one server. `any_address`: others can reach it, and ask it by plain addresses."""

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
        name = _name(host)
        return name in self.names or (self.any_address and _is_address(name))

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this server, or one that was allowed, sends a request to `host`."""
        if origin.lower() in self.origins or (self.url and origin.lower() == origin_of(self.url)):
            return True
        parts = urlsplit(origin)
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


def _name(host: str) -> str:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name.strip("[]").lower()
