# SPDX-License-Identifier: Apache-2.0
"""The server with logins that tests attack."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.config.server import ServeSettings
from aboard.model.people import Role
from support.team_servers import Answer, TeamServer, team_server


@contextlib.contextmanager
def attacked_server(folder: Path, login_clock: Callable[[], float] = time.monotonic) -> Iterator[TeamServer]:
    """A server with an editor `vic`; failed logins are forgiven by `login_clock`."""
    serve = ServeSettings(proxies=("192.0.2.1/32",), largest_request=1 << 20)
    options = {"login_clock": login_clock}
    with (
        Catalog.open(folder / "catalog.sqlite") as catalog,
        team_server(catalog, folder, serve=serve, options=options) as server,
    ):
        server.person("vic", vision=Role.EDITOR)
        yield server


def me(server: TeamServer, **headers: str) -> Answer:
    """Who the server takes somebody for."""
    return server.ask("/api/v1/me", **headers)
