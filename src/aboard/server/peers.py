# SPDX-License-Identifier: Apache-2.0
"""Where a request comes from. What a header says of it is believed of proxies that were named, and of nobody else."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from aboard.server.short_answers import Scope, headers_of

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies:
    """The reverse proxies before a server, by their addresses."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(one) for one in networks]

    def sent(self, scope: Scope) -> bool:
        """Whether a request comes from one of them."""
        peer = _address((scope.get("client") or ("",))[0])
        return peer is not None and self._has(peer)

    def client(self, scope: Scope) -> str:
        """The address of who asks: of the last one in the chain that is not a proxy."""
        peer = str((scope.get("client") or ("",))[0])
        if not self.sent(scope):
            return peer
        told = headers_of(scope).get("x-forwarded-for", "")
        for text in reversed([part.strip() for part in told.split(",") if part.strip()]):
            found = _address(text)
            if found is None:
                return peer
            if not self._has(found):
                return str(found)
        return peer

    def _has(self, address: _Address) -> bool:
        return any(address.version == one.version and address in one for one in self._networks)


def _address(text: str) -> _Address | None:
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
