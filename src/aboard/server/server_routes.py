# SPDX-License-Identifier: Apache-2.0
"""What a server tells of itself, the stores that it follows, and reindexing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Annotated

from fastapi.routing import APIRoute

from aboard import __version__
from aboard.api import VERSION
from aboard.api.page import Page
from aboard.api.server import ReindexAsked, ReindexState, ServerInfo, StoreAdded, StoreStatus
from aboard.errors import Forbidden
from aboard.model.times import now
from aboard.server.actors import Asking
from aboard.server.answering import Operations, sent
from aboard.server.parameters import Identifier
from aboard.services.services import Control


class ServerRoutes:
    """Answers questions about the server. A private one ends when it is asked to; others have whoever runs them."""

    def __init__(self, control: Control, *, private: bool, remember: Callable[[str], None]) -> None:
        self._control, self._private, self._remember = control, private, remember
        self._started = now()

    def routes(self) -> list[APIRoute]:
        operations = Operations("server")
        operations.add("GET", "info", self.info)
        operations.add("GET", "stores", self.stores)
        operations.add("POST", "stores", self.add_store)
        operations.add("POST", "reindex", self.reindex)
        operations.add("GET", "reindex/{task}", self.reindex_state)
        operations.add("POST", "shutdown", self.shutdown, after=_end if self._private else None)
        return operations.routes

    def info(self, access: Asking) -> ServerInfo:
        """Who answers, and how well it knows its stores."""
        return ServerInfo(
            version=__version__,
            api=VERSION,
            pid=os.getpid(),
            private=self._private,
            started=self._started,
            catalog=str(self._control.catalog) if access.is_administrator else "",
            stores=tuple(self._control.seen_by(access).stores()),
            run_store=self._control.seen_by(access).run_store(),
            board_executors=tuple(self._control.boards.executors),
            busy=self._control.busy() if access.is_administrator else "",
        )

    def stores(self, access: Asking) -> Page[StoreStatus]:
        """The stores that the server follows."""
        return Page(tuple(self._control.seen_by(access).stores()))

    def add_store(self, asked: Annotated[StoreAdded, sent(StoreAdded)], access: Asking) -> StoreStatus:
        """Follow another store; only the server of one person does that."""
        added = self._control.seen_by(access).add_store(asked.uri)
        self._remember(added.uri)
        return added

    def reindex(self, asked: Annotated[ReindexAsked, sent(ReindexAsked)], access: Asking) -> ReindexState:
        """Begin to read all runs of a store anew."""
        state = self._control.seen_by(access).reindex(asked.store)
        self._remember(state.store)
        return state

    def reindex_state(self, task: Identifier, access: Asking) -> ReindexState:
        """How far a reindexing is."""
        return self._control.seen_by(access).reindex_state(task)

    def shutdown(self, access: Asking) -> dict[str, str]:
        """End a private server; others are ended by whoever started them."""
        access.check_administrator()
        if not self._private:
            raise Forbidden("this server is ended by whoever started it", hint="Ctrl-C where it runs, or SIGTERM")
        return {"status": "ending"}


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
