# SPDX-License-Identifier: Apache-2.0
"""The application over a folder source: the routes of the API that are about runs."""

from __future__ import annotations

import os
from typing import Any, cast

from starlette.applications import Starlette

from aboard import __version__
from aboard.api import VERSION
from aboard.api.folders import SourceReport
from aboard.api.people import Person
from aboard.api.server import RunSource, ServerInfo
from aboard.model.times import now
from aboard.server.application import create_application
from aboard.server.registration import process_owner
from aboard.server.routes.events import EventRoutes
from aboard.server.routes.files import FileRoutes, MediaRoutes
from aboard.server.routes.groups import GroupRoutes, SavedViewRoutes
from aboard.server.routes.operations import Operations
from aboard.server.routes.runs import RunRoutes, SelectionRoutes
from aboard.server.routes.series import AnnotationRoutes, ChartRoutes, SeriesRoutes
from aboard.services.folders.services import FolderServices
from aboard.services.folders.source_report import report_on


def create_folder_app(services: FolderServices) -> Starlette:
    """The API over a folder source."""
    control = cast("Any", services)
    groups = (
        RunRoutes(control, is_fresh=False),
        SeriesRoutes(control),
        ChartRoutes(control),
        MediaRoutes(control),
        FileRoutes(control),
        AnnotationRoutes(control),
        EventRoutes(control),
        SelectionRoutes(control, is_fresh=False),
        GroupRoutes(control, is_fresh=False),
        SavedViewRoutes(control),
        _SourceRoutes(services),
    )
    return create_application(groups, services.changes, process_owner())


class _SourceRoutes:
    """What the page asks about the server: here, the source."""

    def __init__(self, services: FolderServices) -> None:
        self._services, self._started = services, now()

    def routes(self) -> list[Any]:
        operations = Operations("server")
        operations.add("GET", "info", self.info)
        operations.add("GET", "source", self.source)
        operations.add("GET", "me", self.me)
        operations.add("GET", "boards", self.boards)
        return operations.routes

    def info(self) -> ServerInfo:
        return ServerInfo(
            version=__version__,
            api=VERSION,
            pid=os.getpid(),
            private=True,
            started=self._started,
            catalog="",
            source=RunSource.FOLDERS,
            title=self._services.source.title,
        )

    def source(self) -> SourceReport:
        """Where runs are looked for, and which files cannot be read."""
        return report_on(self._services.source)

    def me(self) -> Person:
        """One person, who may do everything with these runs."""
        return Person(name=process_owner(), administrator=True)

    def boards(self) -> dict[str, object]:
        return {"items": [], "next": None}
