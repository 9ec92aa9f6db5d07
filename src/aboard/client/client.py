# SPDX-License-Identifier: Apache-2.0
"""The door to a server: the one that is configured, or a private one that is started when it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from aboard.api.server import ReindexRequest, ReindexState, ServerInfo, StoreRequest, StoreStatus
from aboard.api.wire import Page
from aboard.client.boards import BoardsClient
from aboard.client.groups import ExperimentsClient, SavedViewsClient, WorkspacesClient
from aboard.client.local_server import LocalServer, own_servers
from aboard.client.people import PeopleClient, TokensClient
from aboard.client.runs import RunsClient
from aboard.client.series import SeriesClient
from aboard.client.served_run import ServedExperiment, ServedRun
from aboard.client.transport import Address, Transport
from aboard.config.credentials import client_settings
from aboard.config.home import machine_folder

_POLL_SECONDS = 0.2


class Client:
    """Asks a server. Nothing is sent, and no server started, before the first question."""

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float = 60.0, home: Path | None = None
    ) -> None:
        settings = client_settings({"server": url, "token": token, "home": home})
        self._timeout = timeout
        self._private = None if settings.server else LocalServer(settings.home, settings.store)
        self._fixed: Transport | None = None
        if settings.server:
            address = Address.of(settings.server, settings.token)
            self._fixed = Transport(_opened_by_its_account(address, settings.home), timeout=timeout)
        self.runs = RunsClient(self._transport, lambda run: ServedRun.of(run, self))
        self.series = SeriesClient(self._transport)
        self.experiments = ExperimentsClient(self._transport, lambda one: ServedExperiment.of(one, self))
        self.workspaces = WorkspacesClient(self._transport)
        self.boards = BoardsClient(self._transport, is_private=self.is_private, before=self._need)
        self.saved_views = SavedViewsClient(self._transport)
        self.people = PeopleClient(self._transport)
        self.tokens = TokensClient(self._transport)

    @property
    def is_private(self) -> bool:
        """Whether it asks the private server of this person."""
        return self._private is not None

    @property
    def url(self) -> str:
        """The address of the server; a private one is started for it."""
        return self._transport().address.url

    def info(self) -> ServerInfo:
        """Who answers, and how well it knows its stores."""
        return self._transport().get(ServerInfo, "info")

    def add_store(self, uri: str) -> StoreStatus:
        """Have the private server follow another store; a shared one has its stores from who runs it."""
        self._need([uri])
        return self._transport().send(StoreStatus, "POST", "stores", StoreRequest(uri=uri))

    def stores(self) -> Page[StoreStatus]:
        """The stores that the server follows."""
        return self._transport().get(Page[StoreStatus], "stores")

    def start_reindex(self, store: str) -> ReindexState:
        """Have all runs of a store read anew; the answer comes at once."""
        self._need([store])
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

    def _need(self, uris: Sequence[str]) -> None:
        if self._private is not None:
            self._private.need(uris)

    def _transport(self) -> Transport:
        if self._private is not None:
            return Transport(self._private.address(), timeout=self._timeout, renew=self._private.renewed)
        assert self._fixed is not None
        return self._fixed


def _opened_by_its_account(address: Address, home: Path) -> Address:
    """With the token of the server that this account runs at that address, where no other one was given."""
    if address.token is not None:
        return address
    own = (one.token for one in own_servers(machine_folder(home)) if one.url == address.url)
    return Address(address.url, next(own, None))
