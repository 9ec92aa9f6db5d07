# SPDX-License-Identifier: Apache-2.0
"""Authenticate requests by token, session cookie, or the header of a trusted proxy, and throttle failed attempts."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from aboard.errors import Unauthorized
from aboard.model.names import check_name
from aboard.model.people import Access
from aboard.server.http.addresses import TrustedProxies, network_of
from aboard.server.http.asgi import Scope
from aboard.services.people.login_attempts import LoginAttempts
from aboard.services.people.logins import Logins

_T = TypeVar("_T")
PROXY_SECRET = "x-aboard-proxy-secret"  # noqa: S105 - the name of a header
_THREADS, _THROTTLED_THREADS = 16, 2


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated user. Browsers attach cookies to requests of any page, so `by_cookie` needs an origin check."""

    access: Access
    by_cookie: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedHeaderAuth:
    """Authentication by a proxy that names the user in a header, trusted by its address or by a shared secret."""

    header: str
    secret: str


class TooManyAttempts(Unauthorized):
    """Too many failed login attempts."""

    status = 429
    code = "TooManyTries"

    def __init__(self, seconds: float) -> None:
        whole = max(1, round(seconds))
        super().__init__("too many failed login attempts", hint=f"try again in {whole} s")
        self.seconds = whole


class Authenticator:
    """Authenticates requests and throttles failed attempts."""

    def __init__(
        self,
        logins: Logins,
        tries: LoginAttempts,
        cookie: Cookie,
        proxies: TrustedProxies,
        *,
        personal: tuple[str, Access] | None = None,
        header: TrustedHeaderAuth | None = None,
    ) -> None:
        """`personal`: the token of a single-user server, and its user."""
        self.logins, self.cookie, self._proxies = logins, cookie, proxies
        self._personal, self._header = personal, header
        self._tries = tries
        self._lanes: dict[tuple[str, bool], CapacityLimiter] = {}  # are made where an event loop runs

    async def authenticate(self, scope: Scope, headers: Mapping[str, str]) -> Principal | None:
        """Return who sent a request, or None if it has no credentials. An invalid token is an error."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            access = await self._by_token(scope, bearer.strip())
            if access is None:
                raise Unauthorized("invalid or revoked token", hint="see `aboard login`; it may have been revoked")
            return Principal(access, by_cookie=False)
        if self._header is not None:
            return await self._by_header(scope, headers, self._header)
        secret = self.cookie.read(headers)
        if not secret:
            return None
        access = self.logins.peek("session", secret)
        if access is None:
            access = await self.attempt(scope, lambda: self.logins.of_session(secret))
        return None if access is None else Principal(access, by_cookie=True)

    async def renew_session(self, headers: Mapping[str, str]) -> str | None:
        """Return a new secret if the session of the browser is due for one."""
        secret = self.cookie.read(headers)
        return await self.on_thread(lambda: self.logins.renew(secret)) if self.logins.is_due(secret) else None

    def is_personal_token(self, text: str) -> bool:
        """Whether it is the token of a single-user server."""
        return self._personal is not None and hmac.compare_digest(
            text.encode("utf-8", "replace"), self._personal[0].encode()
        )

    @property
    def person(self) -> Access | None:
        """The user of a single-user server."""
        return None if self._personal is None else self._personal[1]

    async def attempt(
        self, scope: Scope, find: Callable[[], _T | None], account: str = "", *, lane: str = "catalog"
    ) -> _T | None:
        """Call `find` on a thread. None is a failed attempt, which is counted and throttled.

        Valid credentials pass however many attempts failed: people share addresses with those who guess. Secrets have
        256 random bits, so the lookup itself helps nobody to guess.
        """
        wait = self.wait_seconds(scope, account)
        found = await self.on_thread(find, lane=lane, is_throttled=wait > 0)
        if found is None:
            if wait:
                raise TooManyAttempts(wait)
            self.count_failure(scope, account)
        return found

    async def on_thread(self, find: Callable[[], _T], *, lane: str = "catalog", is_throttled: bool = False) -> _T:
        """Call `find` on a dedicated thread, so that slow stores do not delay logins.

        Lookups of throttled addresses have a few threads of their own, so that a flood of guesses delays nobody else.
        """
        limiter = self._lanes.get((lane, is_throttled))
        if limiter is None:
            limiter = self._lanes[lane, is_throttled] = CapacityLimiter(
                _THROTTLED_THREADS if is_throttled else _THREADS
            )
        return await to_thread.run_sync(find, limiter=limiter)

    def wait_seconds(self, scope: Scope, account: str = "") -> float:
        """Seconds for which failed attempts are throttled; 0 if they are not."""
        return self._tries.wait_seconds(network_of(self._proxies.client(scope)), account)

    def count_failure(self, scope: Scope, account: str = "") -> None:
        """Count a failed attempt."""
        self._tries.failed(network_of(self._proxies.client(scope)), account)

    async def _by_token(self, scope: Scope, text: str) -> Access | None:
        if self._personal is not None and self.is_personal_token(text):
            return self._personal[1]
        known = self.logins.peek("token", text)
        if known is not None:
            return known
        return await self.attempt(scope, lambda: self.logins.of_token(text), account=token_id_of(text))

    async def _by_header(
        self, scope: Scope, headers: Mapping[str, str], trusted: TrustedHeaderAuth
    ) -> Principal | None:
        name = headers.get(trusted.header.lower(), "").strip()
        if not name:
            return None
        if sum(one.decode("latin-1").lower() == trusted.header.lower() for one, _ in scope["headers"]) > 1:
            # One of them is the client's own, which the proxy should have dropped.
            raise Unauthorized(f"{trusted.header} is there more than once", hint="have the proxy replace it")
        shown = headers.get(PROXY_SECRET, "").encode("utf-8", "replace")
        knows_secret = bool(trusted.secret) and hmac.compare_digest(shown, trusted.secret.encode())
        if not (knows_secret or self._proxies.sent(scope)):
            raise Unauthorized(
                f"{trusted.header} is believed of trusted proxies alone",
                hint="who runs the server names them in serve.proxies, or sets login.proxy_secret",
            )
        check_name(name, "a person")
        access = self.logins.peek("name", name.casefold()) or await self.on_thread(lambda: self.logins.of_name(name))
        # The proxy lets every request of a browser through, so pages of others could use it as they could a cookie.
        return None if access is None else Principal(access, by_cookie=True)


def token_id_of(token: str) -> str:
    """The public id inside a token; empty for any other text."""
    parts = token.split("_", 2)
    return parts[1][:32] if len(parts) == 3 and parts[0] == "aboard" else ""


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie. Cookies do not tell ports apart, so its name does, for several servers on one machine.

    `SameSite=Lax`: the way back from an OpenID provider, and links in messages, are requests of another site. Changes
    are guarded by the Origin header beside it.
    """

    name: str
    is_secure: bool
    path: str = "/"

    @classmethod
    def named(cls, what: str, port: int, *, is_secure: bool, below: str = "") -> Cookie:
        """One that is sent to all pages `below` a path of the host."""
        # With `__Host-` a browser takes it from nobody but this very host, over TLS; it allows no path.
        guarded = "__Secure-" if below else "__Host-"
        return cls(f"{guarded}aboard_{what}" if is_secure else f"aboard_{what}_{port}", is_secure, below or "/")

    @classmethod
    def of_board(cls, board_id: str, port: int, *, is_secure: bool, below: str = "") -> Cookie:
        """That of a board which is a process: sent to its own pages and no others."""
        prefix = "__Secure-" if is_secure else ""
        return cls(f"{prefix}aboard_board_{port}", is_secure, f"{below}/boards/{board_id}/")

    def read(self, headers: Mapping[str, str]) -> str:
        """What stands in the cookie of a request, or nothing."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.name)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def header(self, value: str, seconds: int) -> tuple[str, str]:
        """The header that sets it."""
        secure = "; Secure" if self.is_secure else ""
        return "set-cookie", f"{self.name}={value}; Path={self.path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"

    def removal(self) -> tuple[str, str]:
        """The header that takes it away."""
        return self.header("", 0)
