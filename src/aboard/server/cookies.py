# SPDX-License-Identifier: Apache-2.0
"""Cookies of a server: unreadable for scripts, sent to it alone, over TLS where it is reached so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie


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
