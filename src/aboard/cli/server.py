# SPDX-License-Identifier: Apache-2.0
"""`aboard server`: the catalog over HTTP, in the foreground."""

from __future__ import annotations

import contextlib
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from aboard.config.settings import Settings, load_settings
from aboard.errors import InvalidValue, MissingPackage

_LOOPBACK = "127.0.0.1"
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What was asked for."""

    host: str | None
    port: int | None
    stores: Sequence[str]
    catalog: str | None
    private: bool
    """In the background, for the programs of one person."""
    idle_timeout: float
    as_json: bool
    log_format: str = "text"


def serve_catalog(options: ServerOptions) -> None:
    """Serve until interrupted."""
    try:
        from aboard.cli.catalog_serving import CatalogServer
        from aboard.server.listening import is_loopback, listen
        from aboard.server.log_lines import begin_log
    except ImportError as error:
        raise MissingPackage(
            f"aboard server needs packages that are not installed ({error.name})", hint="pip install 'aboard[server]'"
        ) from error

    settings = load_settings()
    host = options.host or _LOOPBACK
    token = secrets.token_urlsafe(32) if options.private else _token(settings, is_loopback=is_loopback(host))
    begin_log(options.log_format)
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(host, 0 if options.private else options.port))
        CatalogServer(options, settings, host, token).serve(listener, stack)


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


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
