# SPDX-License-Identifier: Apache-2.0
"""What a token is good for: less than its owner may do, never more."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from aboard.errors import InvalidValue
from aboard.model.user import Role


class Scope(StrEnum):
    """What a token may be used for; each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    """Also what trainings do: register runs and give signs of life."""
    ADMIN = "admin"


_ROLES = {Scope.READ: Role.VIEWER, Scope.WRITE: Role.EDITOR, Scope.ADMIN: Role.ADMIN}


def check_scopes(texts: Iterable[str]) -> tuple[str, ...]:
    """The scopes themselves, each once, if there are such."""
    known = [str(scope) for scope in Scope]
    for text in texts:
        if text not in known:
            raise InvalidValue(f"{text!r} is not a scope of a token", hint=f"scopes are {', '.join(known)}")
    return tuple(scope for scope in known if scope in set(texts))


def most_of(scopes: Iterable[str]) -> Role:
    """The highest role that a token with these scopes has; without scopes it is good for all. Unknown ones are none."""
    given = list(scopes)
    if not given:
        return Role.ADMIN
    roles = [_ROLES[Scope(one)] for one in given if one in set(Scope)]
    return max(roles, key=list(Role).index, default=Role.VIEWER)
