# SPDX-License-Identifier: Apache-2.0
"""Users, roles, tokens with their scopes, sessions, and the permissions of whoever sends a request.

A workspace that a user may not see is reported as unknown, not as forbidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

from aboard.errors import Forbidden, InvalidValue, UnknownName
from aboard.model.names import folded


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A person as a request shows them. `roles` has the folded names of workspaces as its keys."""

    name: str
    is_administrator: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    most: Role = Role.ADMIN
    """A token may be good for less than its owner."""
    token_id: str = ""
    """The token behind the request or its session, if any: what it creates ends with it."""

    @classmethod
    def whole(cls, name: str) -> Self:
        """Of the one person whose server it is."""
        return cls(name=name, is_administrator=True)

    @property
    def seen(self) -> frozenset[str] | None:
        """The folded names of the workspaces that may be looked at; None for all."""
        return None if self.is_administrator else frozenset(self.roles)

    def may(self, role: Role, workspace: str) -> bool:
        """Whether all that this role may do in the workspace is allowed."""
        if not self.most.includes(role):
            return False
        held = Role.ADMIN if self.is_administrator else self.roles.get(folded(workspace))
        return held is not None and held.includes(role)

    @property
    def writes(self) -> bool:
        """Whether there is a workspace in which things may be changed."""
        held = [Role.ADMIN] if self.is_administrator else list(self.roles.values())
        return self.most.includes(Role.EDITOR) and any(role.includes(Role.EDITOR) for role in held)

    def sees(self, workspace: str) -> bool:
        """Whether what is in the workspace may be looked at."""
        return self.may(Role.VIEWER, workspace)

    def check(self, role: Role, workspace: str) -> None:
        """Refuse who has not this role in the workspace."""
        if not self.sees(workspace):
            raise UnknownName(f"there is no workspace {workspace!r}", hint=self._where_else())
        if not self.may(role, workspace):
            hint = f"an administrator of the workspace {workspace} can give {self.name} the role"
            if not self.most.includes(role):
                hint = "this token was made for less: use another, or `aboard token create` with more scopes"
            raise Forbidden(f"this needs the role {role} in the workspace {workspace}", hint=hint)

    def _where_else(self) -> str:
        if not self.roles:
            return f"an administrator of the server can give {self.name} a role in a workspace"
        return "`aboard workspaces list` shows those that you may use; name one with --workspace"

    def check_change(self) -> None:
        """Refuse a token that may only read, whatever its owner may do."""
        if not self.most.includes(Role.EDITOR):
            hint = "Use a token with the scope write or admin; `aboard token create NAME --scope write` makes one."
            raise Forbidden("This token has the scope read and cannot change anything.", hint=hint)

    def check_administrator(self) -> None:
        """Refuse who does not administer the server."""
        if not (self.is_administrator and self.most is Role.ADMIN):
            raise Forbidden("this needs an administrator of the server", hint="ask one of them")

    @property
    def speaks_for_others(self) -> bool:
        """Whether notes may be signed with another name: by programs of the one person whose server it is."""
        return self.is_administrator


class TokenScope(StrEnum):
    """What a token may be used for; each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    """Also what trainings do: register runs and give signs of life."""
    ADMIN = "admin"


_ROLES = {TokenScope.READ: Role.VIEWER, TokenScope.WRITE: Role.EDITOR, TokenScope.ADMIN: Role.ADMIN}


def check_scopes(texts: Iterable[str]) -> tuple[str, ...]:
    """The scopes themselves, each once, if there are such."""
    known = [str(scope) for scope in TokenScope]
    for text in texts:
        if text not in known:
            raise InvalidValue(f"{text!r} is not a scope of a token", hint=f"scopes are {', '.join(known)}")
    return tuple(scope for scope in known if scope in set(texts))


def highest_role(scopes: Iterable[str]) -> Role:
    """The highest role that a token with these scopes has; without scopes it is good for all. Unknown ones are none."""
    given = list(scopes)
    if not given:
        return Role.ADMIN
    roles = [_ROLES[TokenScope(one)] for one in given if one in set(TokenScope)]
    return max(roles, key=list(Role).index, default=Role.VIEWER)


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
