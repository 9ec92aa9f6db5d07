# SPDX-License-Identifier: Apache-2.0
"""Who asks, and what they may do where. What one may not see looks as if it did not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from aboard.errors import Forbidden, UnknownName
from aboard.model.names import folded
from aboard.model.user import Role


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
