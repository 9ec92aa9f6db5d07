# SPDX-License-Identifier: Apache-2.0
"""Authentication: users by token, session, one-time code, or an external login.

Results are cached for a second, so that a page with many requests costs one query of the catalog, and longer while the
catalog does not answer. Any change of users, roles or tokens clears the cache at once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from aboard.catalog.catalog import Catalog
from aboard.catalog.credentials import BOARD_ORIGIN, digest
from aboard.errors import CatalogUnavailable, Conflict, Forbidden
from aboard.model.boards import BoardRecord
from aboard.model.names import folded
from aboard.model.people import Access, Role, Session, User, highest_role

_KEPT_SECONDS = 1.0
_KEPT_WITHOUT_CATALOG_SECONDS = 300.0
_MOST_KEPT = 10_000
_BOARD_CODE, _BOARD_SESSION = timedelta(minutes=1), timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginOptions:
    """How people come in."""

    session_lifetime: timedelta = timedelta(days=14)
    new_people: Mapping[str, Role] = field(default_factory=dict[str, Role])
    """The roles, by workspace, of who comes for the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalIdentity:
    """A user as an external login describes them."""

    subject: str
    """Their permanent id there."""
    name: str
    display_name: str = ""
    is_administrator: bool | None = None
    """None: the external login does not say."""
    roles: Mapping[str, Role | None] = field(default_factory=dict[str, "Role | None"])
    """By workspace; None takes a role away. Workspaces that are not here stay as they are."""


def name_subject(name: str) -> str:
    """The subject of a person whom a trusted proxy names."""
    return f"name:{folded(name)}"


class Logins:
    """Authenticates users."""

    def __init__(self, catalog: Catalog, options: LoginOptions) -> None:
        self._catalog, self._options = catalog, options
        self._known: OrderedDict[str, tuple[Access, float]] = OrderedDict()
        self._due: set[str] = set()
        self._changes = 0
        self._pass_on: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Look everybody up anew, because somebody's rights have changed; in other server processes too."""
        self.forget_here()
        self._pass_on()

    def forget_here(self) -> None:
        """Look everybody up anew, because another process says so."""
        with self._lock:
            self._known.clear()
            self._changes += 1

    def rights_changed(self, name: str) -> None:
        """Browsers of a person get new secrets: one that leaked before must not open what was given afterwards."""
        self._catalog.sessions.want_renewal(name)
        self.forget()

    def is_due(self, secret: str) -> bool:
        """Whether a session that was just looked up is to get another secret."""
        return digest(secret) in self._due

    def renew(self, secret: str) -> str | None:
        """That secret, for the one who asks first; the old one is good for a minute more."""
        self._due.discard(digest(secret))
        try:
            return self._catalog.sessions.renew(secret)
        except CatalogUnavailable:
            return None  # it stays due

    def leave(self, secret: str) -> None:
        """End a session in whose place another one has come."""
        self._catalog.sessions.end(secret)
        self.forget()

    def pass_on(self, to: Callable[[], None]) -> None:
        """Have `to` called when somebody's rights have changed."""
        self._pass_on = to

    def of_token(self, text: str) -> Access | None:
        """Whose token it is."""
        return self._remembered(f"token {digest(text)}", lambda: self._token(text))

    def of_session(self, secret: str) -> Access | None:
        """Whose session it is."""
        return self._remembered(f"session {digest(secret)}", lambda: self._session(secret))

    def of_name(self, name: str) -> Access | None:
        """The person of that name, whom somebody else has vouched for; who comes for the first time is made known."""

        def find() -> Access | None:
            person = ExternalIdentity(subject=name_subject(name), name=name)
            return self._access(self._person(person).name)

        return self._remembered(f"name {digest(folded(name))}", find)

    def begin_by_token(self, text: str) -> str | None:
        """The secret of a new session for who has this token."""
        token = self._catalog.tokens.check(text)
        if token is None:
            return None
        return self._begin(token.user, "token", token.id)

    def begin_by_name(self, name: str) -> str:
        """The secret of a new session for a person whom the caller knows."""
        return self._begin(name, "token")

    def holder_of_code(self, code: str) -> str | None:
        """The person whom this code logs in; it stays valid."""
        found = self._catalog.login_codes.holder(code)
        return None if found is None else found.user

    def begin_by_code(self, code: str) -> str | None:
        """The secret of a new session for who has this code, which then works no more."""
        found = self._catalog.login_codes.redeem(code)
        return None if found is None else self._begin(found.user, "link", found.token_id)

    def begin_outside(self, person: ExternalIdentity, origin: str) -> str:
        """The secret of a new session for who has logged in elsewhere; their roles become what was said of them."""
        user = self._person(person)
        if person.is_administrator is not None and person.is_administrator != user.is_administrator:
            self._catalog.people.change(user.name, is_administrator=person.is_administrator)
            self._catalog.sessions.want_renewal(user.name)
        for workspace, role in person.roles.items():
            self._set_role(user.name, workspace, role)
        self.forget()
        return self._begin(user.name, origin)

    def code_for_board(self, access: Access, board: BoardRecord) -> str:
        """A code that opens one board for a person, once and within a minute, and nothing else."""
        challenge = digest(_board_verifier(board))
        return self._catalog.login_codes.issue(
            access.name, lifetime=_BOARD_CODE, challenge=challenge, token_id=access.token_id or None
        )

    def begin_board(self, code: str, board_id: str) -> str | None:
        """The secret of a session that is good for one board alone, for who has a code for it."""
        board = self._catalog.boards.get(board_id)
        found = self._catalog.login_codes.redeem(code, verifier=_board_verifier(board))
        if found is None:
            return None
        lifetime, origin = min(self._options.session_lifetime, _BOARD_SESSION), f"{BOARD_ORIGIN}{board.id}"
        return self._catalog.sessions.begin(found.user, origin=origin, lifetime=lifetime, token_id=found.token_id)

    def of_board_session(self, secret: str, board_id: str) -> Access | None:
        """Whose session with this board it is."""

        def find() -> Access | None:
            session = self._catalog.sessions.check(secret)
            is_right = session is not None and session.origin == f"{BOARD_ORIGIN}{board_id}"
            return self._access_of(session) if session is not None and is_right else None

        return self._remembered(f"board {board_id} {digest(secret)}", find)

    def end(self, secret: str) -> None:
        """End a session, and those with boards to which it led."""
        access = self.of_session(secret)
        self._catalog.sessions.end(secret)
        if access is not None:
            self._catalog.sessions.end_of_boards(access.name, access.token_id or None)
        self.forget()
        if access is not None:
            self._catalog.audit.record(access.name, "logout", f"person {access.name}")

    def _begin(self, user: str, origin: str, token_id: str | None = None) -> str:
        lifetime = self._options.session_lifetime
        secret = self._catalog.sessions.begin(user, origin=origin, lifetime=lifetime, token_id=token_id)
        self._catalog.audit.record(user, "login", f"person {user}", {"by": origin})
        return secret

    def _person(self, outside: ExternalIdentity) -> User:
        found = self._catalog.people.by_subject(outside.subject)
        if found is None:
            found = self._first_time(outside)
        if found.disabled is not None:
            raise Forbidden(f"{found.name} may not log in", hint="an administrator of the server can allow it again")
        return found

    def _first_time(self, outside: ExternalIdentity) -> User:
        """A name that is somebody else's already gets a number, unless that one is waiting for their outside login.

        An administrator is not waiting: whoever makes somebody one for a login by name sets their subject. Otherwise a
        person could choose the name of the account that runs the server and administer it.
        """
        people = self._catalog.people
        names = {folded(user.name): user for user in people.list()}
        same = names.get(folded(outside.name))
        is_waiting = same is not None and not same.subject and not same.is_administrator
        if same is not None and is_waiting and outside.subject == name_subject(outside.name):
            return people.change(same.name, subject=outside.subject)
        name, number = outside.name, 2
        while folded(name) in names:
            name, number = f"{outside.name}{number}", number + 1
        try:
            user = people.add(name, display_name=outside.display_name, subject=outside.subject)
        except Conflict:  # another request of theirs, or another server, was quicker
            found = people.by_subject(outside.subject)
            if found is None:
                raise
            return found
        self._catalog.audit.record(user.name, "add", f"person {user.name}", {"by": outside.subject})
        self.give_first_roles(user.name)
        return user

    def give_first_roles(self, name: str) -> None:
        """The roles of somebody who is new."""
        for workspace, role in self._options.new_people.items():
            self._set_role(name, workspace, role)

    def _set_role(self, name: str, workspace: str, role: Role | None) -> None:
        if role is not None:
            known = [folded(one.name) for one in self._catalog.workspaces.list()]
            if folded(workspace) not in known:
                self._catalog.workspaces.add(workspace)
        elif folded(workspace) not in map(folded, self._catalog.people.roles(name)):
            return
        if self._catalog.people.roles(name).get(workspace) is not role:
            self._catalog.people.set_role(name, workspace, role)
            self._catalog.sessions.want_renewal(name)

    def _token(self, text: str) -> Access | None:
        token = self._catalog.tokens.check(text)
        return None if token is None else self._access(token.user, token.scopes, token.id)

    def _session(self, secret: str) -> Access | None:
        session = self._catalog.sessions.check(secret)
        if session is None or session.origin.startswith(BOARD_ORIGIN):
            return None
        if session.is_due and len(self._due) < _MOST_KEPT:
            self._due.add(digest(secret))
        return self._access_of(session)

    def _access_of(self, session: Session) -> Access:
        return self._access(session.user, session.scopes, session.token_id)

    def _access(self, name: str, scopes: tuple[str, ...] = (), token_id: str = "") -> Access:
        user = self._catalog.people.get(name)
        roles: Mapping[str, Role] = {}
        if not user.is_administrator:
            roles = self._catalog.people.roles(name, in_bin_too=True)
        return Access(
            name=user.name,
            is_administrator=user.is_administrator,
            roles={folded(workspace): role for workspace, role in roles.items()},
            most=highest_role(scopes),
            token_id=token_id,
        )

    def _remembered(self, key: str, find: Callable[[], Access | None]) -> Access | None:
        with self._lock:
            known, changes = self._known.get(key), self._changes
        if known is not None and time.monotonic() - known[1] < _KEPT_SECONDS:
            return known[0]
        try:
            found = find()
        except CatalogUnavailable:
            if known is not None and time.monotonic() - known[1] < _KEPT_WITHOUT_CATALOG_SECONDS:
                return known[0]
            raise
        with self._lock:
            self._known.pop(key, None)
            if found is not None and changes == self._changes:
                self._known[key] = found, time.monotonic()
                if len(self._known) > _MOST_KEPT:
                    self._known.popitem(last=False)
        return found

    def peek_board(self, secret: str, board_id: str) -> Access | None:
        """Whose session with a board it was a moment ago."""
        return self._peeked(f"board {board_id} {digest(secret)}")

    def peek(self, kind: str, text: str) -> Access | None:
        """Who it was a moment ago, by `token`, `session` or `name`; asking costs nothing."""
        return self._peeked(f"{kind} {digest(text)}")

    def _peeked(self, key: str) -> Access | None:
        with self._lock:
            known = self._known.get(key)
        return known[0] if known is not None and time.monotonic() - known[1] < _KEPT_SECONDS else None


def _board_verifier(board: BoardRecord) -> str:
    """Known to servers alone, so that nobody can make anything else of a code for a board."""
    return f"board {board.id} {board.secret}"
