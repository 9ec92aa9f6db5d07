# SPDX-License-Identifier: Apache-2.0
"""A catalog, its stores and the application over them, put together for `aboard server`."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import sys
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.cli.reading_report import say
from aboard.cli.server import ServerOptions
from aboard.config.machine_folder import machine_folder
from aboard.config.settings import Settings
from aboard.control.control import Control, ControlOptions
from aboard.errors import AboardError
from aboard.server.access import AccessGuard
from aboard.server.actors import owner
from aboard.server.api_app import api_app
from aboard.server.idleness import IdleStop
from aboard.server.listening import is_loopback, url_of
from aboard.server.registration import Registration
from aboard.server.serving import serve

_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_log = logging.getLogger("aboard.server")


class CatalogServer:
    """One start of `aboard server`."""

    def __init__(self, options: ServerOptions, settings: Settings, host: str, token: str) -> None:
        self._options, self._settings, self._host, self._token = options, settings, host, token
        # The token of one start is known to the person alone; one that was settled may be known to many.
        self._is_personal = is_loopback(host) and (options.private or settings.token is None)

    def serve(self, listener: socket.socket, stack: contextlib.ExitStack) -> None:
        """Serve until interrupted; what is opened is closed with `stack`."""
        options, url = self._options, url_of(listener, "")
        own = machine_folder(self._settings.home)
        registration = Registration(own) if options.catalog is None else None
        if registration is not None:
            stack.callback(registration.withdraw)
        catalog = stack.enter_context(Catalog.open(options.catalog or own / "catalog.sqlite"))
        control = self._control(catalog, stack)
        remembering = registration if self._is_personal else None
        if remembering is not None:
            _follow_again(control, remembering.stores())
        app = AccessGuard(
            api_app(
                control,
                personal=self._is_personal,
                private=options.private,
                actor=owner() if self._is_personal else "",
                remember=remembering.remember if remembering is not None else _forget,
            ),
            hosts=_LOOPBACK_NAMES | {self._host.lower()} if is_loopback(self._host) else None,
            token=self._token,
            cookie=f"aboard_server_{listener.getsockname()[1]}",
        )
        if registration is not None:
            registration.publish(url, self._token)
        self._announce(url, catalog=str(catalog), stores=[one.uri for one in control.stores()])
        if options.private and registration is not None:
            is_needed = catalog.boards.has_living
            serve(IdleStop(app, options.idle_timeout, registration.is_published, is_needed), listener)
        else:
            serve(app, listener)

    def _control(self, catalog: Catalog, stack: contextlib.ExitStack) -> Control:
        own_store: Path | None = self._settings.home / "store" if self._is_personal else None
        stores = self._options.stores or [self._settings.store]
        control = Control(
            catalog,
            ControlOptions(
                stores=stores,
                own_store=own_store,
                may_add_stores=self._is_personal,
                roots=None if self._is_personal else (),
                template=self._settings.template,
            ),
        )
        stack.callback(control.close)
        return control

    def _announce(self, url: str, *, catalog: str, stores: list[str]) -> None:
        if self._options.as_json:
            say(json.dumps({"url": url, "token": self._token, "catalog": catalog, "stores": stores}), sys.stdout)
            return
        if self._options.private:
            say(f"a private server listens at {url}; catalog {catalog}; stores {', '.join(stores)}", sys.stderr)
            return
        say(f"aboard serves {catalog} at {url}", sys.stdout)
        say(f"  export ABOARD_SERVER={url} ABOARD_TOKEN={self._token}", sys.stdout)
        say(f"It follows {', '.join(stores)}. Ctrl-C ends it.", sys.stderr)


def _follow_again(control: Control, uris: list[str]) -> None:
    """A store that can no longer be opened is no reason not to serve the others."""
    for uri in uris:
        try:
            control.add_store(uri)
        except AboardError as error:
            _log.warning("%s is not followed: %s", uri, error)


def _forget(_: str) -> None:
    return
