# SPDX-License-Identifier: Apache-2.0
"""A person, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """What a person may do in a workspace; each role may do what the ones before it may."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Whether this role may do all that `other` may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person who may log in. An administrator has every role everywhere."""

    name: str
    created: datetime
    display_name: str = ""
    subject: str = ""  # who they are to an outside login
    is_administrator: bool = False
    disabled: datetime | None = None
