# SPDX-License-Identifier: Apache-2.0
"""What a server tells of itself, the stores that it follows, and reindexing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from starlette.routing import Route

from aboard import __version__
from aboard.api import VERSION
from aboard.api.page import Page
from aboard.api.server import ReindexAsked, ReindexState, ServerInfo, StoreAdded, StoreStatus
from aboard.control.control import Control
from aboard.errors import Forbidden
from aboard.model.times import now
from aboard.server.answering import Call, route


class ServerRoutes:
    """Answers questions about the server. A private one ends when it is asked to; others have whoever runs them."""

    def __init__(self, control: Control, *, private: bool, remember: Callable[[str], None]) -> None:
        self._control, self._private, self._remember = control, private, remember
        self._started = now()

    def routes(self) -> list[Route]:
        return [
            route("info", self.info),
            route("stores", self.stores),
            route("stores", self.add_store, "POST"),
            route("reindex", self.reindex, "POST"),
            route("reindex/{task}", self.reindex_state),
            route("shutdown", self.shutdown, "POST", after=_end if self._private else None),
        ]

    def info(self, _: Call) -> ServerInfo:
        return ServerInfo(
            version=__version__,
            api=VERSION,
            pid=os.getpid(),
            private=self._private,
            started=self._started,
            catalog=str(self._control.catalog),
            stores=tuple(self._control.stores()),
        )

    def stores(self, _: Call) -> Page[StoreStatus]:
        return Page(tuple(self._control.stores()))

    def add_store(self, call: Call) -> StoreStatus:
        added = self._control.add_store(call.body(StoreAdded).uri)
        self._remember(added.uri)
        return added

    def reindex(self, call: Call) -> ReindexState:
        state = self._control.reindex(call.body(ReindexAsked).store)
        self._remember(state.store)
        return state

    def reindex_state(self, call: Call) -> ReindexState:
        return self._control.reindex_state(call.name("task"))

    def shutdown(self, _: Call) -> dict[str, str]:
        if not self._private:
            raise Forbidden("this server is ended by whoever started it", hint="Ctrl-C where it runs, or SIGTERM")
        return {"status": "ending"}


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
