# SPDX-License-Identifier: Apache-2.0
"""A session: a browser in which a person has logged in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session without its secret. `origin` says how the person came in: token, link, oidc."""

    user: str
    origin: str
    created: datetime
    expires: datetime
    last_used: datetime
    token_id: str = ""
    """The token with which they came, if any; the session ends with it."""
    scopes: tuple[str, ...] = ()
    """Of the token with which they came."""
    is_due: bool = False
    """Whether the browser is to get another secret."""
