# SPDX-License-Identifier: Apache-2.0
"""`aboard server`: the catalog over HTTP, in the foreground."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from aboard.cli.reading_report import say
from aboard.config.settings import Settings, load_settings
from aboard.errors import InvalidValue, MissingPackage

_LOOPBACK = "127.0.0.1"
_LOOPBACK_NAMES = frozenset({_LOOPBACK, "localhost", "::1"})
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What was asked for."""

    host: str | None
    port: int | None
    stores: Sequence[str]
    catalog: str | None
    private: bool
    idle_timeout: float
    as_json: bool


def serve_catalog(options: ServerOptions) -> None:
    """Serve until interrupted."""
    try:
        from aboard.server.listening import is_loopback, listen
    except ImportError as error:
        raise MissingPackage(
            f"aboard server needs packages that are not installed ({error.name})", hint="pip install 'aboard[server]'"
        ) from error

    settings = load_settings()
    host = options.host or _LOOPBACK
    token = _token(settings, is_loopback=is_loopback(host))
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        _serve(options, settings, host, token, stack, listen(host, 0 if options.private else options.port))


def _serve(
    options: ServerOptions,
    settings: Settings,
    host: str,
    token: str,
    stack: contextlib.ExitStack,
    listener: socket.socket,
) -> None:
    from aboard.catalog.catalog import Catalog
    from aboard.control.control import Control, ControlOptions
    from aboard.server.access import AccessGuard
    from aboard.server.actors import owner
    from aboard.server.api_app import api_app
    from aboard.server.idleness import IdleStop
    from aboard.server.listening import is_loopback, url_of
    from aboard.server.registration import Registration
    from aboard.server.serving import serve

    stack.callback(listener.close)
    # The token of one start is known to the person alone; one that was settled may be known to many.
    personal = is_loopback(host) and (options.private or settings.token is None)
    registration = Registration(settings.home) if options.catalog is None else None
    if registration is not None:
        stack.callback(registration.withdraw)
    catalog = stack.enter_context(Catalog.open(options.catalog or settings.home / "catalog.sqlite"))
    remembered = registration.stores() if registration is not None and personal else []
    stores = [*(options.stores or [settings.store]), *remembered]
    control = Control(
        catalog,
        ControlOptions(stores=stores, own_store=settings.home / "store" if personal else None, may_add_stores=personal),
    )
    stack.callback(control.close)
    app = AccessGuard(
        api_app(
            control,
            personal=personal,
            private=options.private,
            actor=owner() if personal else "",
            remember=registration.remember if registration is not None and personal else _forget,
        ),
        hosts=_LOOPBACK_NAMES | {host.lower()} if is_loopback(host) else None,
        token=token,
        cookie=f"aboard_server_{listener.getsockname()[1]}",
    )
    url = url_of(listener, "")
    if registration is not None:
        registration.publish(url, token)
    _announce(url, token, options, catalog=str(catalog), stores=[one.uri for one in control.stores()])
    serve(IdleStop(app, options.idle_timeout) if options.private else app, listener)


def _token(settings: Settings, *, is_loopback: bool) -> str:
    if settings.token is not None:
        if len(settings.token) < _SHORTEST_TOKEN:
            raise InvalidValue(
                f"the token of the server has {len(settings.token)} characters, which can be guessed",
                hint=f"use at least {_SHORTEST_TOKEN}: ABOARD_TOKEN=$(openssl rand -hex 24)",
            )
        return settings.token
    if not is_loopback:
        raise InvalidValue(
            "others could reach this address, and no token is set",
            hint="set one that you give to them: ABOARD_TOKEN=$(openssl rand -hex 24); or listen on 127.0.0.1",
        )
    return secrets.token_urlsafe(32)


def _announce(url: str, token: str, options: ServerOptions, *, catalog: str, stores: list[str]) -> None:
    if options.as_json:
        say(json.dumps({"url": url, "token": token, "catalog": catalog, "stores": stores}), sys.stdout)
        return
    if options.private:
        say(f"a private server listens at {url}; catalog {catalog}; stores {', '.join(stores)}", sys.stderr)
        return
    say(f"aboard serves {catalog} at {url}", sys.stdout)
    say(f"  export ABOARD_SERVER={url} ABOARD_TOKEN={token}", sys.stdout)
    say(f"It follows {', '.join(stores)}. Ctrl-C ends it.", sys.stderr)


def _forget(_: str) -> None:
    return


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
