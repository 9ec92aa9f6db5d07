# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/people`, `tokens`, `roles`, `login` and `audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from starlette.routing import Route

from aboard import __version__
from aboard.api.people import (
    AuditChange,
    CreatedToken,
    LoginCodeExchange,
    LoginLink,
    LoginLinkRequest,
    LoginMethods,
    Members,
    NewPerson,
    NewToken,
    Person,
    PersonChange,
    RoleChange,
)
from aboard.api.wire import Page
from aboard.errors import Unauthorized
from aboard.model.people import Access, Token
from aboard.server.http.addresses import safe_redirect_path
from aboard.server.routes.binding import Query
from aboard.server.routes.operations import CurrentAccess, Operations, request_body
from aboard.server.routes.parameters import After, Identifier, Limit, WorkspaceName

if TYPE_CHECKING:
    from aboard.services.services import Services

_PersonName = Annotated[str, Query(alias="person", description="Whose; of an administrator only. Else one's own.")]


class PeopleRoutes:
    """Answers questions about people. `mode` is how they log in."""

    def __init__(self, control: Services, mode: str) -> None:
        self._control, self._mode = control, mode

    def routes(self) -> list[Route]:
        operations = Operations("people")
        operations.add("GET", "login", self.ways)
        operations.add("POST", "login/exchange", self.exchange, is_change=False)  # without a token
        operations.add("POST", "login/codes", self.make_code)
        operations.add("POST", "logout", self.logout)
        operations.add("GET", "me", self.me)
        operations.add("GET", "people", self.list)
        operations.add("POST", "people", self.add)
        operations.add("GET", "people/{name}", self.get)
        operations.add("PATCH", "people/{name}", self.change)
        operations.add("POST", "roles", self.set_role)
        operations.add("GET", "workspaces/{name}/members", self.members)
        operations.add("GET", "tokens", self.tokens)
        operations.add("POST", "tokens", self.make_token)
        # Every token may revoke itself; the handler refuses the rest.
        operations.add("POST", "tokens/{token}/revoke", self.revoke_token, is_change=False)
        operations.add("GET", "audit", self.audit)
        return operations.routes

    def ways(self) -> LoginMethods:
        """How people log in here; told to everybody."""
        return LoginMethods(mode=self._mode, version=__version__)

    def exchange(self, shown: Annotated[LoginCodeExchange, request_body(LoginCodeExchange)]) -> CreatedToken:
        """A token for a code that works once; asked by programs that do not know anything else yet."""
        found = self._control.catalog.login_codes.redeem(shown.code, verifier=shown.verifier)
        if found is None:
            raise Unauthorized("invalid or expired code", hint="log in once more")
        person = Access(name=found.user, token_id=found.token_id or "")
        return self._control.people_for(person).make_token(NewToken(name=shown.name or "login"))

    def make_code(
        self, asked: Annotated[LoginLinkRequest, request_body(LoginLinkRequest)], access: CurrentAccess
    ) -> LoginLink:
        """An address that logs a browser in as who asks, once, for ten minutes."""
        code = self._control.people_for(access).login_code()
        path = safe_redirect_path(asked.path)
        joint = "&" if "?" in path else "?"
        return LoginLink(path=f"{path}{joint}{urlencode({'token': code})}")

    def logout(self, access: CurrentAccess) -> Person:
        """End all sessions of who asks."""
        desk = self._control.people_for(access)
        desk.end_sessions()
        return desk.me()

    def me(self, access: CurrentAccess) -> Person:
        """Who asks, and what they may do."""
        return self._control.people_for(access).me()

    def list(self, access: CurrentAccess) -> Page[Person]:
        """All people for an administrator; for others those with whom they share a workspace."""
        return Page(tuple(self._control.people_for(access).list()))

    def add(self, new: Annotated[NewPerson, request_body(NewPerson)], access: CurrentAccess) -> Person:
        """Let somebody in."""
        return self._control.people_for(access).add(new)

    def get(self, name: Identifier, access: CurrentAccess) -> Person:
        """One person."""
        return self._control.people_for(access).get(name)

    def change(
        self, name: Identifier, change: Annotated[PersonChange, request_body(PersonChange)], access: CurrentAccess
    ) -> Person:
        """Keep somebody out or let them in again; make them an administrator, or take that away."""
        return self._control.people_for(access).change(name, change)

    def set_role(self, asked: Annotated[RoleChange, request_body(RoleChange)], access: CurrentAccess) -> Members:
        """Give somebody a role in a workspace, or take it away."""
        return self._control.people_for(access).set_role(asked)

    def members(self, name: WorkspaceName, access: CurrentAccess) -> Members:
        """Who has which role in a workspace."""
        return self._control.people_for(access).members(name)

    def tokens(
        self,
        access: CurrentAccess,
        person: _PersonName = "",
        all_people: Annotated[bool, Query(alias="all", description="Of everybody, for an administrator.")] = False,
    ) -> Page[Token]:
        """One's own tokens, without their secrets."""
        return Page(tuple(self._control.people_for(access).tokens(person, all_people=all_people)))

    def make_token(self, new: Annotated[NewToken, request_body(NewToken)], access: CurrentAccess) -> CreatedToken:
        """Make a token; its text is told this once."""
        return self._control.people_for(access).make_token(new)

    def revoke_token(self, token: Identifier, access: CurrentAccess) -> Token:
        """Let a token open nothing any more."""
        return self._control.people_for(access).revoke_token(token)

    def audit(
        self,
        access: CurrentAccess,
        actor: Annotated[str | None, Query(description="Changes by this person.")] = None,
        target: Annotated[str | None, Query(description="Changes of this, as `run343` or `workspace x`.")] = None,
        limit: Limit = 100,
        after: After = None,
    ) -> Page[AuditChange]:
        """The record of changes, newest first; for administrators."""
        desk = self._control.people_for(access)
        return desk.changes(actor=actor or None, target=target or None, limit=limit, after=after or None)
