# SPDX-License-Identifier: Apache-2.0
"""A token: what a program shows to act for a person. Its secret is known to its owner only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret. Without scopes it may do all that its owner may."""

    id: str
    user: str
    name: str
    created: datetime
    scopes: tuple[str, ...] = ()
    expires: datetime | None = None
    last_used: datetime | None = None
    revoked: datetime | None = None
    parent: str = ""
    """The id of the token that created this one; this one ends with it."""

    def is_valid(self, at: datetime) -> bool:
        """Whether it opens anything at that moment."""
        return self.revoked is None and (self.expires is None or at < self.expires)
