# SPDX-License-Identifier: Apache-2.0
"""Accounts, their roles and tokens: who may see and change which of them, and the audit record of it.

The functions for the first administrator are also the way back in when every administrator is locked out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from aboard.api.people import AuditChange, CreatedToken, Members, NewPerson, NewToken, Person, PersonChange, RoleChange
from aboard.api.wire import Page
from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, Forbidden, InvalidValue, UnknownName
from aboard.model.names import check_name, folded, usable_name
from aboard.model.people import Access, Role, Token, User, check_scopes
from aboard.model.times import now
from aboard.services.people.logins import Logins, name_subject

_LONGEST_SECONDS = 100 * 366 * 86400
_CODE_LIFETIME = timedelta(minutes=10)


class AccountService:
    """The use cases of accounts, scoped to one user."""

    def __init__(self, access: Access, catalog: Catalog, logins: Logins) -> None:
        self._access, self._catalog, self._logins = access, catalog, logins
        self._people = catalog.people

    def me(self) -> Person:
        """The account of the user."""
        found = {folded(user.name): user for user in self._people.list()}.get(folded(self._access.name))
        if found is None:  # the one person of a server without people
            return Person(name=self._access.name, administrator=self._access.is_administrator, most=self._access.most)
        return self._to_person(found, most=self._access.most)

    def list(self) -> list[Person]:
        """All people for an administrator; for others those with whom they share a workspace."""
        shown = {folded(self._access.name)}
        if not self._access.is_administrator:
            for workspace in self._catalog.seen_by(self._access.seen).workspaces.list():
                shown |= set(map(folded, self._people.members(workspace.name)))
        everybody = self._access.is_administrator
        return [self._to_person(user) for user in self._people.list() if everybody or folded(user.name) in shown]

    def get(self, name: str) -> Person:
        """One of those that `list` shows."""
        found = {folded(person.name): person for person in self.list()}
        if folded(name) not in found:
            raise UnknownName(f"there is no person {name!r}", hint="`aboard user list` shows who there is")
        return found[folded(name)]

    def add(self, new: NewPerson) -> Person:
        """Let somebody in."""
        self._access.check_administrator()
        for workspace in new.roles:
            self._catalog.workspaces.get(workspace)
        subject = self._free_subject(new.name) if new.administrator else ""
        user = self._people.add(
            new.name, display_name=new.display_name, is_administrator=new.administrator, subject=subject
        )
        if new.roles:
            for workspace, role in new.roles.items():
                self._people.set_role(user.name, workspace, role)
        else:
            self._logins.give_first_roles(user.name)
        self._record("add", f"person {user.name}", {"administrator": new.administrator})
        return self._to_person(self._people.get(user.name))

    def change(self, name: str, asked: PersonChange) -> Person:
        """Keep somebody out, let them in again, make them an administrator or take that away."""
        self._access.check_administrator()
        user = self._people.get(name)
        subject = self._free_subject(user.name) if asked.administrator and not user.subject else None
        self._people.change(
            user.name,
            display_name=asked.display_name,
            is_administrator=asked.administrator,
            subject=subject or None,
            disabled=asked.disabled,
            keep_administrator=True,
        )
        if asked.administrator is not None:
            self._logins.rights_changed(user.name)
        if asked.disabled is True:
            self._catalog.sessions.end_all(user.name)
        given = {"display_name": asked.display_name, "administrator": asked.administrator, "disabled": asked.disabled}
        said = {key: value for key, value in given.items() if value is not None}
        self._record("change", f"person {user.name}", said)
        return self._to_person(self._people.get(user.name))

    def set_role(self, asked: RoleChange) -> Members:
        """Give somebody a role in a workspace, or take it away."""
        workspace = self._catalog.seen_by(self._access.seen).workspaces.get(asked.workspace).name
        self._access.check(Role.ADMIN, workspace)
        self._check_known(asked.person)
        self._people.set_role(asked.person, workspace, asked.role)
        self._logins.rights_changed(asked.person)
        self._record("role", f"workspace {workspace}", {"person": asked.person, "role": str(asked.role or "none")})
        return self.members(workspace)

    def members(self, workspace: str) -> Members:
        """Who has which role in a workspace."""
        name = self._catalog.seen_by(self._access.seen).workspaces.get(workspace).name
        return Members(workspace=name, members=self._people.members(name))

    def tokens(self, person: str = "", *, all_people: bool = False) -> Sequence[Token]:
        """One's own tokens; for an administrator those of another person, or of all."""
        if all_people:
            self._access.check_administrator()
            return self._catalog.tokens.list()
        if person and folded(person) != folded(self._access.name):
            self._access.check_administrator()
            return self._catalog.tokens.list(self._people.get(person).name)
        return self._catalog.tokens.list(self._access.name)

    def make_token(self, new: NewToken) -> CreatedToken:
        """Create a token for the caller or, as an administrator, for another person.

        One's own token ends with the token that created it. One for somebody else does not: it is theirs, and must
        outlive the login of the administrator. The audit record names the token behind it.
        """
        self._check_scope_admin("create tokens")
        owner, by_token = self._access.name, self._access.token_id
        is_own = not new.person or folded(new.person) == folded(owner)
        if not is_own:
            self._access.check_administrator()
            owner = self._people.get(new.person).name
        seconds = new.expires_seconds
        if seconds is not None and not 0 < seconds <= _LONGEST_SECONDS:
            raise InvalidValue(f"expires_seconds is {seconds}", hint=f"use more than 0 and at most {_LONGEST_SECONDS}")
        expires = None if seconds is None else now() + timedelta(seconds=seconds)
        name, scopes = check_name(new.name, "a token"), check_scopes(new.scopes)
        parent = by_token if is_own else ""
        token, text = self._catalog.tokens.issue(owner, name, scopes=scopes, expires=expires, parent=parent)
        details = {"person": owner, "name": name, "scopes": list(scopes), "by_token": by_token}
        self._record("add", f"token {token.id}", details)
        return CreatedToken(token=token, text=text)

    def revoke_token(self, token_id: str) -> Token:
        """Revoke a token of the caller, or any token as an administrator, by id or name.

        A token with a scope below `admin` can revoke itself alone.
        """
        if token_id != self._access.token_id:
            self._check_scope_admin("revoke other tokens")
        is_boss = self._access.is_administrator
        mine = [one for one in self._catalog.tokens.list() if is_boss or folded(one.user) == folded(self._access.name)]
        found = [one for one in mine if one.id == token_id]
        if not found:
            own = [one for one in mine if folded(one.user) == folded(self._access.name) and one.revoked is None]
            found = [one for one in own if one.name == token_id]
        if not found:
            raise UnknownName(f"there is no token {token_id!r}", hint="`aboard token list` shows them")
        if len(found) > 1:
            ids = ", ".join(one.id for one in found)
            raise Conflict(f"{len(found)} tokens are called {token_id!r}", hint=f"name one by its id: {ids}")
        token = found[0]
        self._catalog.tokens.revoke(token.id)
        self._record("revoke", f"token {token.id}", {"person": token.user, "name": token.name})
        return next(one for one in self._catalog.tokens.list() if one.id == token.id)

    def end_sessions(self) -> int:
        """Log out everywhere."""
        self._check_scope_admin("end sessions")
        ended = self._catalog.sessions.end_all(self._access.name)
        self._record("logout", f"person {self._access.name}", {"sessions": ended})
        return ended

    def login_code(self, challenge: str = "") -> str:
        """A code that logs the person who asks in once more, for a browser or, with a challenge, a program."""
        self._check_scope_admin("create login links")
        return self._catalog.login_codes.issue(
            self._access.name, lifetime=_CODE_LIFETIME, challenge=challenge, token_id=self._access.token_id or None
        )

    def changes(self, *, actor: str | None, target: str | None, limit: int, after: str | None) -> Page[AuditChange]:
        """A page of the record, newest first."""
        self._access.check_administrator()
        page = self._catalog.audit.list(actor=actor, target=target, limit=limit, after=after)
        items = [
            AuditChange(
                id=one.id, at=one.at, actor=one.actor, action=one.action, target=one.target, details=one.details
            )
            for one in page.items
        ]
        return Page(tuple(items), page.next)

    def _check_known(self, name: str) -> None:
        """Without a word of who else there is: that is for administrators."""
        if folded(name) not in {folded(user.name) for user in self._people.list()}:
            raise UnknownName(f"there is no person {name!r}", hint="an administrator of the server can let them in")

    def _check_scope_admin(self, what: str) -> None:
        """A token that was created for less must not create what is good for more, nor end other logins."""
        if self._access.most is not Role.ADMIN:
            hint = "Log in, or use a token with the scope admin."
            raise Forbidden(f"This token cannot {what}: its scope is not admin.", hint=hint)

    def _free_subject(self, name: str) -> str:
        """The subject by which a trusted proxy logs in somebody who was made an administrator; nothing if it is taken.

        Others get theirs at their first login.
        """
        subject = name_subject(name)
        return "" if self._people.by_subject(subject) else subject

    def _to_person(self, user: User, *, most: Role = Role.ADMIN) -> Person:
        roles = self._people.roles(user.name)
        is_me = folded(user.name) == folded(self._access.name)
        return Person(
            name=user.name,
            display_name=user.display_name,
            administrator=user.is_administrator,
            created=user.created,
            disabled=user.disabled,
            roles={name: role for name, role in roles.items() if is_me or self._access.sees(name)},
            most=most,
        )

    def _record(self, action: str, target: str, details: Mapping[str, object]) -> None:
        self._catalog.audit.record(self._access.name, action, target, details)
        self._logins.forget()


_ADMINISTRATOR_CODE_LIFETIME = timedelta(hours=1)


def ensure_administrator(catalog: Catalog, name: str, *, is_chosen: bool = False) -> str:
    """A person of this name who administers the server and may log in; what they are called in the catalog.

    `is_chosen`: somebody chose the name, so that a trusted proxy may log them in by it. The name of the account that
    runs the server is not chosen: people of the proxy may be called so.
    """
    name = usable_name(name, "administrator")
    known = catalog.people.by_subject(name_subject(name)) if is_chosen else None
    try:
        user = known or catalog.people.get(name)
    except UnknownName:
        try:
            user = catalog.people.add(name, is_administrator=True)
        except Conflict:  # another server over the same catalog was quicker
            user = catalog.people.get(name)
        catalog.audit.record(user.name, "add", f"person {user.name}", {"administrator": True})
    if not user.is_administrator:
        catalog.people.change(user.name, is_administrator=True)
        catalog.audit.record(user.name, "change", f"person {user.name}", {"administrator": True})
    if user.disabled is not None:
        catalog.people.enable(user.name)
        catalog.audit.record(user.name, "change", f"person {user.name}", {"disabled": False})
    if is_chosen and not user.subject:
        catalog.people.change(user.name, subject=name_subject(name))
    return user.name


def has_named_administrator(catalog: Catalog) -> bool:
    """Whether a trusted proxy can log an administrator in."""
    prefix = name_subject("")
    return any(
        user.is_administrator and user.disabled is None and user.subject.startswith(prefix)
        for user in catalog.people.list()
    )


def has_way_in(catalog: Catalog) -> bool:
    """Whether an administrator has a token or a session with which they get in."""
    at = now()
    able = [user.name for user in catalog.people.list() if user.is_administrator and user.disabled is None]
    return any(
        any(token.is_valid(at) for token in catalog.tokens.list(name)) or catalog.sessions.list(name) for name in able
    )


def code_for(catalog: Catalog, name: str) -> str:
    """A code that lets this person in, once, within the hour."""
    return catalog.login_codes.issue(name, lifetime=_ADMINISTRATOR_CODE_LIFETIME)
