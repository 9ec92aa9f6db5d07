# SPDX-License-Identifier: Apache-2.0
"""Routes about the server itself: health, readiness, metrics, stores, reindexing and shutdown."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from starlette.responses import Response
from starlette.routing import Route

from aboard import __version__
from aboard.api import VERSION
from aboard.api.server import Health, Readiness, ReindexRequest, ReindexState, ServerInfo, StoreRequest, StoreStatus
from aboard.api.wire import Page
from aboard.errors import AboardError, Forbidden
from aboard.model.times import now
from aboard.server.http.metrics import CONTENT_TYPE, ServerMetrics
from aboard.server.routes.operations import CurrentAccess, Operations, encode, request_body
from aboard.server.routes.parameters import Identifier

if TYPE_CHECKING:
    from aboard.services.services import Services


class ServerRoutes:
    """Answers questions about the server. A private one ends when it is asked to; others have whoever runs them."""

    def __init__(self, control: Services, *, private: bool, remember: Callable[[str], None]) -> None:
        self._control, self._private, self._remember = control, private, remember
        self._started = now()

    def routes(self) -> list[Route]:
        operations = Operations("server")
        operations.add("GET", "info", self.info)
        operations.add("GET", "stores", self.stores)
        operations.add("POST", "stores", self.add_store)
        operations.add("POST", "reindex", self.reindex)
        operations.add("GET", "reindex/{task}", self.reindex_state)
        operations.add("POST", "shutdown", self.shutdown, after=_terminate if self._private else None)
        return operations.routes

    def info(self, access: CurrentAccess) -> ServerInfo:
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

    def stores(self, access: CurrentAccess) -> Page[StoreStatus]:
        """The stores that the server follows."""
        return Page(tuple(self._control.seen_by(access).stores()))

    def add_store(
        self, asked: Annotated[StoreRequest, request_body(StoreRequest)], access: CurrentAccess
    ) -> StoreStatus:
        """Follow another store; only the server of one person does that."""
        added = self._control.seen_by(access).add_store(asked.uri)
        self._remember(added.uri)
        return added

    def reindex(
        self, asked: Annotated[ReindexRequest, request_body(ReindexRequest)], access: CurrentAccess
    ) -> ReindexState:
        """Begin to read all runs of a store anew."""
        state = self._control.seen_by(access).reindex(asked.store)
        self._remember(state.store)
        return state

    def reindex_state(self, task: Identifier, access: CurrentAccess) -> ReindexState:
        """How far a reindexing is."""
        return self._control.seen_by(access).reindex_state(task)

    def shutdown(self, access: CurrentAccess) -> dict[str, str]:
        """End a private server; others are ended by whoever started them."""
        access.check_administrator()
        if not self._private:
            raise Forbidden("this server is ended by whoever started it", hint="Ctrl-C where it runs, or SIGTERM")
        return {"status": "ending"}


def _terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class HealthRoutes:
    """Answers how the server is. The first two need no token, and so tell nothing of what is in the server."""

    def __init__(self, control: Services, metrics: ServerMetrics) -> None:
        self._control, self._metrics = control, metrics

    def routes(self) -> list[Route]:
        operations = Operations("health")
        operations.add("GET", "healthz", self.live, prefix="")
        operations.add("GET", "readyz", self.ready, prefix="", content={"application/json": Readiness})
        operations.add("GET", "metrics", self.metrics, prefix="", content={"text/plain": bytes})
        return operations.routes

    def live(self) -> Health:
        """Whether the process answers."""
        return Health(status="ok")

    def ready(self) -> Response:
        """Whether it can do its work: 503 while the database does not answer.

        Stores that fail make it `degraded`, and no worse: what is known of them is still told.
        """
        try:
            self._control.catalog.check()
            database = "ok"
        except AboardError as error:
            database = error.code
        states = [store.state for store in (*self._control.stores(), *self._control.sources())]
        failing = states.count("failing")
        status = "not ready" if database != "ok" else "degraded" if failing else "ready"
        told = Readiness(status=status, database=database, stores=len(states), failing_stores=failing)
        return Response(encode(told), 200 if database == "ok" else 503, media_type="application/json")

    def metrics(self, access: CurrentAccess) -> Response:
        """Counters in the text format of Prometheus, for administrators."""
        access.check_administrator()
        return Response(self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})
