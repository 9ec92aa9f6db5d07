# SPDX-License-Identifier: Apache-2.0
"""`aboard.Client`: the runs, boards, experiments, people and stores of a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from aboard.api.server import ReindexRequest, ReindexState, ServerInfo, StoreRequest, StoreStatus
from aboard.api.wire import Page
from aboard.client.board import ServedExperiment, ServedRun
from aboard.client.boards import BoardsClient
from aboard.client.connection import ServerConnection
from aboard.client.groups import ExperimentsClient, SavedViewsClient, WorkspacesClient
from aboard.client.people import PeopleClient, TokensClient
from aboard.client.runs import RunsClient
from aboard.client.series import SeriesClient

_POLL_SECONDS = 0.2


class Client:
    """A client of a server. Nothing is sent, and no server started, before the first request."""

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float = 60.0, home: Path | None = None
    ) -> None:
        self._connection = ServerConnection(url, token, timeout=timeout, home=home)
        self._transport = self._connection.transport
        self.runs = RunsClient(self._transport, lambda run: ServedRun.of(run, self))
        self.series = SeriesClient(self._transport)
        self.experiments = ExperimentsClient(self._transport, lambda one: ServedExperiment.of(one, self))
        self.workspaces = WorkspacesClient(self._transport)
        self.boards = BoardsClient(self._connection)
        self.saved_views = SavedViewsClient(self._transport)
        self.people = PeopleClient(self._transport)
        self.tokens = TokensClient(self._transport)

    @property
    def is_private(self) -> bool:
        """Whether it uses the local server of this account."""
        return self._connection.is_local

    @property
    def url(self) -> str:
        """The address of the server; a local one is started for it."""
        return self._transport().address.url

    def info(self) -> ServerInfo:
        """Who answers, and how well it knows its stores."""
        return self._transport().get(ServerInfo, "info")

    def add_store(self, uri: str) -> StoreStatus:
        """Have the local server follow another store; a shared one has its stores from who runs it."""
        self._connection.need([uri])
        return self._transport().send(StoreStatus, "POST", "stores", StoreRequest(uri=uri))

    def stores(self) -> Page[StoreStatus]:
        """The stores that the server follows."""
        return self._transport().get(Page[StoreStatus], "stores")

    def start_reindex(self, store: str) -> ReindexState:
        """Have all runs of a store read anew; the answer comes at once."""
        self._connection.need([store])
        return self._transport().send(ReindexState, "POST", "reindex", ReindexRequest(store=store))

    def reindex(self, store: str, *, progress: Callable[[ReindexState], None] | None = None) -> ReindexState:
        """As `start_reindex`, and wait for the end; `progress` is told how far it is."""
        state = self.start_reindex(store)
        while not state.is_over:
            if progress is not None:
                progress(state)
            time.sleep(_POLL_SECONDS)
            state = self._transport().get(ReindexState, f"reindex/{state.id}")
        return state
