# SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers: begun at a login, kept as digests, ended by a logout, by time, or with their token.

They are in the catalog, so that all server processes over it know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from aboard.catalog.database import Database
from aboard.catalog.digests import digest, new_secret
from aboard.catalog.keys import stored_fold
from aboard.catalog.people import user_id
from aboard.catalog.schema import sessions, tokens, users
from aboard.model.session import Session
from aboard.model.times import now

BOARD_ORIGIN = "board "
"""Before the id of the only board that a session is good for."""
_FORMER_GOOD = timedelta(minutes=1)
"""How long a secret that was replaced still opens something: for requests that were sent with it."""
_NOTED_EVERY = timedelta(minutes=5)
_MOST_EACH = 50
"""Sessions of one person; the oldest give way."""


class Sessions:
    """The sessions of a catalog."""

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
            found = _read(connection, at, where)
        if not found:
            return None
        if found[0].last_used + _NOTED_EVERY < at:
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
            return _read(connection, now(), users.c.name_key == stored_fold(user))


def _holds(secret: str, at: datetime) -> ColumnElement[bool]:
    """The session of a secret, also of one that was replaced a moment ago."""
    shown = digest(secret)
    return (sessions.c.hash == shown) | ((sessions.c.former_hash == shown) & (sessions.c.former_until > at))


def _read(connection: Connection, at: datetime, where: ColumnElement[bool]) -> list[Session]:
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
