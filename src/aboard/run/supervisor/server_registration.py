# SPDX-License-Identifier: Apache-2.0
"""Registers a run with the configured server, which numbers and names it, and sends heartbeats.

Nothing depends on the responses: without them a run has a name of its own, and the server finds it in the store.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from aboard.api.runs import NewRun
from aboard.config.credentials import client_settings
from aboard.errors import AboardError
from aboard.model.runs import RunRecord

if TYPE_CHECKING:
    from aboard.client.client import Client


HEARTBEAT_SECONDS = 20.0
_PATIENCE_SECONDS = 5.0
_log = logging.getLogger("aboard.run")


class ServerRegistration:
    """The server that settings name; none where they name none, for a private one looks into the store by itself."""

    def __init__(self) -> None:
        self._client: Client | None = None
        try:
            if client_settings().server:
                from aboard.client.client import Client

                self._client = Client(timeout=_PATIENCE_SECONDS)
        except AboardError as error:
            _log.warning("%s The run goes on without a server.", _sentence(error))

    def registered(self, run: RunRecord, store: str, *, is_named: bool) -> RunRecord:
        """The run with the name that it has from now on: the server's, if nobody has given it one."""
        if self._client is None:
            return run
        new = NewRun(
            uid=run.uid,
            workspace=run.workspace,
            experiment=run.experiment or "",
            name=run.name if is_named else "",
            user=run.user,
            host=run.host,
            store=store,
        )
        try:
            told = self._client.runs.register(new)
            self._warn_of_unread_store(self._client, store)
        except AboardError as error:
            hint = f" ({error.hint})" if error.hint else ""
            _log.warning("%s So the run is called %s.%s", _sentence(error), run.name, hint)
            return run
        return replace(run, number=told.number, name=told.name or run.name)

    def _warn_of_unread_store(self, client: Client, store: str) -> None:
        info = client.info()
        if info.run_store and store not in (info.run_store, *(one.uri for one in info.stores)):
            _log.warning(
                "The server reads runs from %s and may never see what goes to %s: set ABOARD_STORE to a store of it.",
                info.run_store,
                store,
            )

    @contextmanager
    def kept_informed(self, uid: str) -> Generator[None]:
        """Give signs of life in the background."""
        stop = threading.Event()
        if self._client is not None:
            threading.Thread(target=self._beat, args=(uid, stop), name="aboard-heartbeat", daemon=True).start()
        try:
            yield
        finally:
            stop.set()

    def _beat(self, uid: str, stop: threading.Event) -> None:
        assert self._client is not None
        is_well = True
        while not stop.wait(HEARTBEAT_SECONDS):
            try:
                self._client.runs.heartbeat(uid)
                is_well = True
            except AboardError as error:
                if is_well:
                    _log.info("%s The run goes on without the server.", _sentence(error))
                is_well = False


def _sentence(error: AboardError) -> str:
    text = error.message[:1].upper() + error.message[1:]
    return text if text.endswith(".") else f"{text}."
