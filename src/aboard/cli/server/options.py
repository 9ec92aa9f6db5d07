# SPDX-License-Identifier: Apache-2.0
"""The options of `aboard server` and its token, checked before the packages that serve are loaded.

Those take about a second, so mistakes in options and settings are reported first.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from aboard.config.server import LoginSettings, ServeSettings, check_chosen_secret
from aboard.config.settings import Settings, load_settings
from aboard.errors import InvalidValue, MissingPackage


@dataclass(frozen=True, slots=True)
class ServerOptions:
    host: str | None = None
    port: int | None = None
    stores: Sequence[str] = ()
    catalog: str | None = None
    login: str | None = None
    private: bool = False
    """In the background, for the programs of one person."""
    idle_timeout: float = 1800.0
    as_json: bool = False
    log_format: str | None = None

    def settings(self) -> Settings:
        """The settings that hold with these flags."""
        if self.private:  # what was settled for a server of all is not meant for this one
            return replace(load_settings(), serve=ServeSettings(port=0), login=LoginSettings())
        flags = {"serve.host": self.host, "serve.port": self.port, "login.mode": self.login}
        flags["serve.log_format"] = self.log_format
        return load_settings({**flags, "serve.catalog": self.catalog, "serve.stores": tuple(self.stores) or None})


@dataclass(frozen=True, slots=True)
class ServerToken:
    """What the account that runs the server shows to it."""

    text: str = field(repr=False)
    is_settled: bool
    """Whether somebody has chosen it, and may have told it to others."""


@contextlib.contextmanager
def require_packages() -> Generator[None]:
    """Say what to install where a package is missing."""
    try:
        yield
    except ImportError as error:
        raise MissingPackage(
            f"aboard server needs packages that are not installed ({error.name})", hint="pip install 'aboard[server]'"
        ) from error


def choose_token(settings: Settings, *, is_loopback: bool, is_private: bool = False) -> ServerToken:
    """The token of a server; an error where others could reach it and nothing keeps them out."""
    if is_private or settings.login.mode != "personal":
        return ServerToken(secrets.token_urlsafe(32), is_settled=False)
    if settings.token is not None:
        check_chosen_secret(settings.token, "The token of the server", "ABOARD_TOKEN=$(openssl rand -hex 24)")
        return ServerToken(settings.token, is_settled=True)
    if not is_loopback:
        raise InvalidValue(
            "others could reach this address, and no token is set and no login",
            hint=f"give people logins: `aboard server --login tokens --host {settings.serve.host}`; "
            "or one token for all: `ABOARD_TOKEN=$(openssl rand -hex 24) "
            f"aboard server --host {settings.serve.host}`; or listen on 127.0.0.1",
        )
    return ServerToken(secrets.token_urlsafe(32), is_settled=False)
