# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/events`: what changes, as it changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Response
from fastapi.routing import APIRoute

from aboard.model.names import folded
from aboard.server.actors import Asking
from aboard.server.answering import Operations
from aboard.server.event_stream import EventStream
from aboard.server.parameters import Workspaces
from aboard.services.services import Control


class EventRoutes:
    """Answers who wants to be told."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[APIRoute]:
        operations = Operations("events")
        operations.add("GET", "events", self.watch, content={"text/event-stream": bytes})
        return operations.routes

    def watch(
        self,
        workspaces: Workspaces,
        access: Asking,
        last_event_id: Annotated[str, Header(description="As browsers send it when they come back.")] = "",
        after: Annotated[str, Query(description="The same, for who cannot send headers.")] = "",
    ) -> Response:
        """Server-sent events, each with an id.

        `run` has `uid`, `number`, `name`, `workspace`, `experiment`, `status`, `deleted` and `changed`, which has
        `seen` the first time this server hears of a run, else some of `status`, `metrics`, `document`, `deleted`,
        `restored`, `moved` and `purged`. `board` has `id`, `name`, `owner`, `workspace`, `state`, `run_count` and
        `changed`: `create`, `reopen`, `start`, `stop`, `kill`, `change`, `delete`, `end` or `runs`. `resync` means that
        something was missed: look at everything anew. The stream ends after a quarter of an hour; come back with the
        last id. Every answer of the API has an id in `X-Changes`: who asks for what comes `after` it misses nothing.
        """
        return EventStream(
            self._control.changes,
            access,
            last_id=last_event_id or after,
            workspaces=frozenset(map(folded, workspaces)),
        )
