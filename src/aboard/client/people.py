# SPDX-License-Identifier: Apache-2.0
"""People, roles, tokens and the record of changes, asked from a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aboard.api.people import (
    AuditChange,
    CreatedToken,
    LoginCodeExchange,
    LoginMethods,
    Members,
    NewPerson,
    NewToken,
    Person,
    PersonChange,
    RoleChange,
)
from aboard.api.wire import Page
from aboard.client.transport import Transport, quote_path_part
from aboard.model.people import Role, Token


class PeopleClient:
    """The people of a server; `Client.people`."""

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self._transport = transport

    def me(self) -> Person:
        """Who asks."""
        return self._transport().get(Person, "me")

    def list(self) -> Page[Person]:
        """All people for an administrator; for others those with whom they share a workspace."""
        return self._transport().get(Page[Person], "people")

    def get(self, name: str) -> Person:
        return self._transport().get(Person, f"people/{quote_path_part(name)}")

    def add(
        self,
        name: str,
        *,
        display_name: str = "",
        administrator: bool = False,
        roles: Mapping[str, Role] | None = None,
    ) -> Person:
        """Let somebody in; without roles they get those that the server gives to who is new."""
        new = NewPerson(name=name, display_name=display_name, administrator=administrator, roles=roles or {})
        return self._transport().send(Person, "POST", "people", new)

    def change(
        self,
        name: str,
        *,
        display_name: str | None = None,
        administrator: bool | None = None,
        disabled: bool | None = None,
    ) -> Person:
        """Keep somebody out or let them in again; make them an administrator, or take that away."""
        change = PersonChange(display_name=display_name, administrator=administrator, disabled=disabled)
        return self._transport().send(Person, "PATCH", f"people/{quote_path_part(name)}", change)

    def set_role(self, person: str, workspace: str, role: Role | None) -> Members:
        """Give somebody a role in a workspace, or take it away."""
        asked = RoleChange(person=person, workspace=workspace, role=role)
        return self._transport().send(Members, "POST", "roles", asked)

    def members(self, workspace: str) -> Members:
        return self._transport().get(Members, f"workspaces/{quote_path_part(workspace)}/members")

    def changes(
        self, *, actor: str | None = None, target: str | None = None, limit: int = 100, after: str | None = None
    ) -> Page[AuditChange]:
        """A page of the record of changes, newest first."""
        query = {"actor": actor, "target": target, "limit": limit, "after": after}
        return self._transport().get(Page[AuditChange], "audit", query)


class TokensClient:
    """The tokens of a server, and logins; `Client.tokens`."""

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self._transport = transport

    def list(self, *, person: str = "", everybody: bool = False) -> Page[Token]:
        """One's own tokens; for an administrator those of another person, or of all."""
        return self._transport().get(Page[Token], "tokens", {"person": person, "all": everybody})

    def create(
        self, name: str, *, scopes: Sequence[str] = (), expires_seconds: float | None = None, person: str = ""
    ) -> CreatedToken:
        """Make a token; its text is told this once."""
        new = NewToken(name=name, scopes=tuple(scopes), expires_seconds=expires_seconds, person=person)
        return self._transport().send(CreatedToken, "POST", "tokens", new)

    def revoke(self, token: str) -> Token:
        """Let a token open nothing any more; by its id, or the name of one's own."""
        return self._transport().send(Token, "POST", f"tokens/{quote_path_part(token)}/revoke")

    def ways(self) -> LoginMethods:
        """How people log in; asked without being anybody."""
        return self._transport().get(LoginMethods, "login")

    def exchange(self, code: str, verifier: str = "", name: str = "") -> CreatedToken:
        """A token for a code that works once."""
        return self._transport().send(
            CreatedToken, "POST", "login/exchange", LoginCodeExchange(code=code, verifier=verifier, name=name)
        )
