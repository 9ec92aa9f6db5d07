# SPDX-License-Identifier: Apache-2.0
"""`/healthz`, `/readyz` and `/metrics`: for those who watch over servers."""

from __future__ import annotations

from fastapi import Response
from fastapi.routing import APIRoute

from aboard.api.server import Health, Readiness
from aboard.errors import AboardError
from aboard.server.actors import Asking
from aboard.server.answering import Operations, encoded
from aboard.server.server_metrics import CONTENT_TYPE, ServerMetrics
from aboard.services.services import Control


class HealthRoutes:
    """Answers how the server is. The first two need no token, and so tell nothing of what is in the server."""

    def __init__(self, control: Control, metrics: ServerMetrics) -> None:
        self._control, self._metrics = control, metrics

    def routes(self) -> list[APIRoute]:
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
        states = [store.state for store in self._control.stores()]
        failing = states.count("failing")
        status = "not ready" if database != "ok" else "degraded" if failing else "ready"
        told = Readiness(status=status, database=database, stores=len(states), failing_stores=failing)
        return Response(encoded(told), 200 if database == "ok" else 503, media_type="application/json")

    def metrics(self, access: Asking) -> Response:
        """Counters in the text format of Prometheus, for administrators."""
        access.check_administrator()
        return Response(self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})
