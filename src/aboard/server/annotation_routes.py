# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/annotations`: what trainings said about moments of their runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from fastapi.routing import APIRoute

from aboard.api.annotations import Annotations
from aboard.server.actors import Asking
from aboard.server.answering import Operations
from aboard.services.services import Control

_Runs = Annotated[list[str], Query(alias="run", default_factory=list, description="Runs, as `?run=run1&run=run2`.")]


class AnnotationRoutes:
    """Answers questions about annotations."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[APIRoute]:
        operations = Operations("annotations")
        operations.add("GET", "annotations", self.list)
        return operations.routes

    def list(self, runs: _Runs, access: Asking) -> Annotations:
        """What `Run.log_event` noted in these runs; of very many, the newest."""
        return self._control.annotations(runs, access)
