# SPDX-License-Identifier: Apache-2.0
"""Tokens, browser sessions and login codes; only digests of their secrets are stored.

A secret has 256 random bits, so a plain digest of it can be neither reversed nor guessed. A token is
`aboard_<id>_<secret>`. A session ends by logout, by time, or with its token; sessions are in the catalog so that all
server processes know them. A login code stands in an address, works once and expires soon.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from aboard.catalog.database import Database
from aboard.catalog.lookup import stored_fold
from aboard.catalog.people import user_id
from aboard.catalog.schema import login_codes, sessions, tokens, users
from aboard.errors import Unauthorized, UnknownName
from aboard.model.people import Session, Token
from aboard.model.times import now


def new_secret() -> str:
    """A secret that nobody has guessed or will."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret. Looking it up by its digest tells an attacker's clock nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


_FORM = re.compile(r"aboard_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_TOKEN_USE_INTERVAL = timedelta(minutes=1)  # a busy token is not written at every use


class Tokens:
    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(
        self, user: str, name: str, *, scopes: Sequence[str] = (), expires: datetime | None = None, parent: str = ""
    ) -> tuple[Token, str]:
        """Create a token for a person. Its text is returned once and not stored.

        One created with another token, its `parent`, expires no later than that one and is revoked with it.
        """
        token_id, secret = secrets.token_hex(8), new_secret()

        def work(connection: Connection) -> None:
            ends = _ends_with_parent(connection, parent, expires) if parent else expires
            row = {"id": token_id, "user_id": user_id(connection, user), "name": name, "hash": digest(secret)}
            row |= {"scopes": list(scopes), "created": now(), "expires": ends, "parent_id": parent or None}
            connection.execute(insert(tokens).values(**row))

        self._database.write(work)
        with self._database.reading() as connection:
            (token,) = _read_tokens(connection, tokens.c.id == token_id)
        return token, f"aboard_{token_id}_{secret}"

    def check(self, text: str, at: datetime | None = None) -> Token | None:
        """The token that a text is, if it opens anything: it exists, is not over, and its owner is not kept out."""
        at = at or now()
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        where = tokens.c.id == form.group(1)
        with self._database.reading() as connection:
            query = select(tokens.c.hash, users.c.disabled).join_from(tokens, users).where(where)
            found = connection.execute(query).first()
            if found is None or not hmac.compare_digest(found.hash, digest(form.group(2))) or found.disabled:
                return None
            (token,) = _read_tokens(connection, where)
        if not token.is_valid(at):
            return None
        if token.last_used is None or token.last_used + _TOKEN_USE_INTERVAL < at:
            self._database.write(lambda c: c.execute(update(tokens).where(where).values(last_used=at)))
        return token

    def list(self, user: str | None = None) -> Sequence[Token]:
        """The tokens of a person, or of all, oldest first."""
        with self._database.reading() as connection:
            return _read_tokens(connection, None if user is None else users.c.name_key == stored_fold(user))

    def revoke(self, token_id: str) -> None:
        """Revoke a token and all that were created with it."""
        self._database.write(lambda connection: _revoke(connection, token_id))

    def delete(self, token_id: str) -> None:
        """Forget a token, which then opens nothing either; those created with it are revoked."""

        def work(connection: Connection) -> None:
            _revoke(connection, token_id)
            connection.execute(delete(tokens).where(tokens.c.id == token_id))

        self._database.write(work)


def _ends_with_parent(connection: Connection, parent: str, expires: datetime | None) -> datetime | None:
    """When a child of this token expires; the lock makes a concurrent revocation of the parent find the child."""
    query = select(tokens.c.expires, tokens.c.revoked).where(tokens.c.id == parent).with_for_update()
    found = connection.execute(query).first()
    if found is None or found.revoked is not None or (found.expires is not None and found.expires <= now()):
        raise Unauthorized("This token was revoked or has expired.", hint="Log in again with `aboard login`.")
    return min((moment for moment in (found.expires, expires) if moment is not None), default=None)


def _revoke(connection: Connection, token_id: str) -> None:
    at = now()
    if not connection.execute(update(tokens).where(tokens.c.id == token_id).values(revoked=at)).rowcount:
        raise UnknownName(f"there is no token {token_id!r}")
    parents = [token_id]
    while parents:
        children = tokens.c.parent_id.in_(parents), tokens.c.revoked.is_(None)
        parents = list(connection.scalars(select(tokens.c.id).where(*children)))
        connection.execute(update(tokens).where(tokens.c.id.in_(parents)).values(revoked=at))


def _read_tokens(connection: Connection, where: ColumnElement[bool] | None) -> list[Token]:
    plain = ("id", "name", "created", "expires", "last_used", "revoked")
    query = select(tokens, users.c.name.label("user")).join_from(tokens, users).order_by(tokens.c.created, tokens.c.id)
    rows = connection.execute(query if where is None else query.where(where)).mappings()
    return [
        Token(
            user=row["user"],
            scopes=tuple(row["scopes"]),
            parent=row["parent_id"] or "",
            **{name: row[name] for name in plain},
        )
        for row in rows
    ]


BOARD_ORIGIN = "board "
"""Before the id of the only board that a session is good for."""
_FORMER_GOOD = timedelta(minutes=1)
"""How long a secret that was replaced still opens something: for requests that were sent with it."""
_SESSION_USE_INTERVAL = timedelta(minutes=5)
_MOST_EACH = 50
"""Sessions of one person; the oldest give way."""


class Sessions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, user: str, *, origin: str, lifetime: timedelta, token_id: str | None = None) -> str:
        """A new session of a person: the secret for their browser, always a fresh one, so that none can be foisted."""
        secret, at = new_secret(), now()

        def work(connection: Connection) -> None:
            key = user_id(connection, user)
            row = {"hash": digest(secret), "user_id": key, "token_id": token_id, "origin": origin}
            row |= {"created": at, "expires": at + lifetime, "last_used": at}
            connection.execute(insert(sessions).values(**row))
            connection.execute(delete(sessions).where(sessions.c.expires <= at))
            # Those of boards are many, and must not make people log in anew.
            is_of_board = sessions.c.origin.startswith(BOARD_ORIGIN, autoescape=True)
            mine = sessions.c.user_id == key, is_of_board if origin.startswith(BOARD_ORIGIN) else ~is_of_board
            newest = select(sessions.c.hash).where(*mine).order_by(sessions.c.created.desc(), sessions.c.hash)
            connection.execute(delete(sessions).where(*mine, sessions.c.hash.not_in(newest.limit(_MOST_EACH))))

        self._database.write(work)
        return secret

    def check(self, secret: str, at: datetime | None = None) -> Session | None:
        """The session that a cookie holds, if it is not over, its person not kept out and its token still good."""
        at = at or now()
        where = _holds(secret, at)
        with self._database.reading() as connection:
            found = _read_sessions(connection, at, where)
        if not found:
            return None
        if found[0].last_used + _SESSION_USE_INTERVAL < at:
            self._database.write(lambda c: c.execute(update(sessions).where(where).values(last_used=at)))
        return found[0]

    def end(self, secret: str) -> None:
        """Log out; what is no session, or none any more, is fine."""
        self._database.write(lambda c: c.execute(delete(sessions).where(_holds(secret, now()))))

    def want_renewal(self, user: str) -> None:
        """Have the browsers of a person get other secrets, because what theirs open has changed."""

        def work(connection: Connection) -> None:
            is_of_board = sessions.c.origin.startswith(BOARD_ORIGIN, autoescape=True)
            mine = sessions.c.user_id == user_id(connection, user), ~is_of_board
            connection.execute(update(sessions).where(*mine).values(renewal_due=now()))

        self._database.write(work)

    def renew(self, secret: str) -> str | None:
        """Another secret for the session that a browser shows, if it is due for one; of several who ask one gets it."""
        fresh, at = new_secret(), now()
        due = sessions.c.hash == digest(secret), sessions.c.renewal_due.is_not(None)
        values = {"hash": digest(fresh), "former_hash": digest(secret), "former_until": at + _FORMER_GOOD}
        change = update(sessions).where(*due).values(**values, renewal_due=None)
        return fresh if self._database.write(lambda c: c.execute(change).rowcount) == 1 else None

    def end_of_boards(self, user: str, token_id: str | None) -> None:
        """End the sessions with boards that a person opened with this token, or without one."""

        def work(connection: Connection) -> None:
            is_of_board = sessions.c.origin.startswith(BOARD_ORIGIN, autoescape=True)
            mine = sessions.c.user_id == user_id(connection, user), sessions.c.token_id.is_not_distinct_from(token_id)
            connection.execute(delete(sessions).where(*mine, is_of_board))

        self._database.write(work)

    def end_all(self, user: str) -> int:
        """End all sessions of a person; how many there were."""

        def work(connection: Connection) -> int:
            return connection.execute(delete(sessions).where(sessions.c.user_id == user_id(connection, user))).rowcount

        return self._database.write(work)

    def list(self, user: str) -> Sequence[Session]:
        """The sessions of a person that open something now, the newest first."""
        with self._database.reading() as connection:
            return _read_sessions(connection, now(), users.c.name_key == stored_fold(user))


def _holds(secret: str, at: datetime) -> ColumnElement[bool]:
    """The session of a secret, also of one that was replaced a moment ago."""
    shown = digest(secret)
    return (sessions.c.hash == shown) | ((sessions.c.former_hash == shown) & (sessions.c.former_until > at))


def _read_sessions(connection: Connection, at: datetime, where: ColumnElement[bool]) -> list[Session]:
    columns = sessions.c.origin, sessions.c.created, sessions.c.expires, sessions.c.last_used, sessions.c.renewal_due
    query = select(users.c.name.label("user"), sessions.c.token_id, tokens.c.scopes, *columns)
    query = query.select_from(sessions.join(users).outerjoin(tokens, sessions.c.token_id == tokens.c.id))
    valid = (
        sessions.c.expires > at,
        users.c.disabled.is_(None),
        tokens.c.revoked.is_(None),
        tokens.c.expires.is_(None) | (tokens.c.expires > at),
    )
    rows = connection.execute(query.where(where, *valid).order_by(sessions.c.created.desc())).mappings()
    plain = ("user", "origin", "created", "expires", "last_used")
    return [
        Session(
            token_id=row["token_id"] or "",
            scopes=tuple(row["scopes"] or ()),
            is_due=row["renewal_due"] is not None,
            **{name: row[name] for name in plain},
        )
        for row in rows
    ]


class CodeHolder(NamedTuple):
    """The person whom a code logs in, and the token that requested the code, if any."""

    user: str
    token_id: str | None


class LoginCodes:
    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(self, user: str, *, lifetime: timedelta, challenge: str = "", token_id: str | None = None) -> str:
        """A new code for a person; with a challenge it is good only for who knows what that is a digest of.

        `token_id` is the token that requested it: the code, and what it is redeemed for, end with that token.
        """
        secret, at = new_secret(), now()

        def work(connection: Connection) -> None:
            row = {"hash": digest(secret), "user_id": user_id(connection, user), "challenge": challenge}
            row |= {"token_id": token_id}
            connection.execute(insert(login_codes).values(**row, created=at, expires=at + lifetime))
            connection.execute(delete(login_codes).where(login_codes.c.expires <= at))

        self._database.write(work)
        return secret

    def holder(self, code: str) -> CodeHolder | None:
        """For whom a code without a challenge is; it stays valid."""
        with self._database.reading() as connection:
            return _holder(connection, code, "")

    def redeem(self, code: str, *, verifier: str = "") -> CodeHolder | None:
        """For whom a code is, which is worth nothing afterwards, whether the verifier was right or not."""
        challenge = digest(verifier) if verifier else ""
        this = login_codes.c.hash == digest(code)
        with self._database.reading() as connection:
            # A guess must not wait for writers or hold them up.
            if connection.execute(select(login_codes.c.user_id).where(this)).first() is None:
                return None

        def work(connection: Connection) -> CodeHolder | None:
            found = _holder(connection, code, challenge)
            # Of two who show it at once only one deletes it.
            was_mine = connection.execute(delete(login_codes).where(this)).rowcount == 1
            return found if was_mine else None

        return self._database.write(work)


def _holder(connection: Connection, code: str, challenge: str) -> CodeHolder | None:
    query = select(users.c.name, login_codes.c.token_id).select_from(
        login_codes.join(users).outerjoin(tokens, login_codes.c.token_id == tokens.c.id)
    )
    at = now()
    valid = (
        login_codes.c.expires > at,
        users.c.disabled.is_(None),
        tokens.c.revoked.is_(None),
        tokens.c.expires.is_(None) | (tokens.c.expires > at),
    )
    this = login_codes.c.hash == digest(code), login_codes.c.challenge == challenge
    found = connection.execute(query.where(*this, *valid)).first()
    return None if found is None else CodeHolder(found.name, found.token_id)
