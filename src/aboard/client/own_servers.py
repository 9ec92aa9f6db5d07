# SPDX-License-Identifier: Apache-2.0
"""The servers that this account runs over catalogs elsewhere; `aboard.server.registration` is the other side."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from aboard.errors import Conflict


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A server that lives, with what opens it."""

    url: str
    token: str = field(repr=False)
    catalog: str
    started: str


def own_servers(home: Path) -> list[OwnServer]:
    """Those that live, the newest first; `home` is the folder of this machine."""
    found = [one for path in (home / "server" / "elsewhere").glob("*.json") if (one := _living(path)) is not None]
    return sorted(found, key=lambda one: one.started, reverse=True)


def of_one_catalog(servers: Sequence[OwnServer]) -> Sequence[OwnServer]:
    """The same servers, each as good as another over one catalog; an error where there are several catalogs."""
    if len({one.catalog for one in servers}) > 1:
        told = ", ".join(f"{one.url} ({one.catalog})" for one in servers)
        raise Conflict(
            f"this account runs servers over different catalogs: {told}",
            hint=f"say which is meant, as in ABOARD_SERVER={servers[0].url}; this account needs no token for it",
        )
    return servers


def _living(path: Path) -> OwnServer | None:
    try:
        with path.open("rb") as file:
            text = file.read()
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None  # its server is gone, or the lock would be held
            except BlockingIOError:
                document: object = json.loads(text)
    except (OSError, ValueError):
        return None
    match cast("dict[str, object]", document) if isinstance(document, dict) else {}:
        case {"url": str(url), "token": str(token), "catalog": str(catalog), "started": str(started)}:
            return OwnServer(url, token, catalog, started)
        case _:
            return None
