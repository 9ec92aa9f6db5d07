# SPDX-License-Identifier: Apache-2.0
"""The connection of a client: to the configured server, or to the local server, which is started when it is needed.

It also has the functions that make names and times of this machine mean the same to a server elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from aboard.client.local_server import LocalServer, find_announced_servers
from aboard.client.transport import Address, Transport
from aboard.config.credentials import client_settings
from aboard.config.home import machine_folder
from aboard.errors import InvalidValue
from aboard.model.selections import is_folder


class ServerConnection:
    """Gives transports to one server. Nothing is sent, and no server started, before the first request."""

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float = 60.0, home: Path | None = None
    ) -> None:
        settings = client_settings({"server": url, "token": token, "home": home})
        self._timeout = timeout
        self._local = None if settings.server else LocalServer(settings.home, settings.store)
        self._fixed: Transport | None = None
        if settings.server:
            address = Address.of(settings.server, settings.token)
            self._fixed = Transport(_with_own_token(address, settings.home), timeout=timeout)

    @property
    def is_local(self) -> bool:
        """Whether it leads to the local server of this account."""
        return self._local is not None

    def transport(self) -> Transport:
        """A transport to a server that answers; the local one is started if it does not run."""
        if self._local is not None:
            return Transport(self._local.address(), timeout=self._timeout, renew=self._local.renewed)
        assert self._fixed is not None
        return self._fixed

    def need(self, uris: Sequence[str]) -> None:
        """Say which URIs the next requests are about: a local server needs this process's credentials for them."""
        if self._local is not None:
            self._local.need(uris)


def _with_own_token(address: Address, home: Path) -> Address:
    """With the token of the server that this account runs at that address, where no other one was given."""
    if address.token is not None:
        return address
    own = (one.token for one in find_announced_servers(machine_folder(home)) if one.url == address.url)
    return Address(address.url, next(own, None))


def as_tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (names,) if isinstance(names, str) else tuple(names)


def utc_offset_minutes() -> int:
    """Minutes east of Greenwich: times that a person writes into a filter are those of their own clock."""
    return -time.localtime().tm_gmtoff // -60


def resolve_folder(word: str) -> str:
    """A folder of this machine as the server can know it, which works in another one."""
    if not is_folder(word) or "://" in word:
        return word
    try:
        return str(Path(word).expanduser().absolute())
    except RuntimeError:
        raise InvalidValue(f"{word!r} begins with the home of a user who is not known here") from None
