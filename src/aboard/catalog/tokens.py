# SPDX-License-Identifier: Apache-2.0
"""Tokens: given out once, kept only as digests, checked, and revoked.

A token is `aboard_<id>_<secret>`. Its secret has 256 random bits, so that a plain digest of it cannot be undone.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from aboard.catalog.database import Database
from aboard.catalog.digests import digest, new_secret
from aboard.catalog.keys import stored_fold
from aboard.catalog.people import user_id
from aboard.catalog.schema import tokens, users
from aboard.errors import Unauthorized, UnknownName
from aboard.model.times import now
from aboard.model.token import Token

_FORM = re.compile(r"aboard_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOTED_EVERY = timedelta(minutes=1)  # a busy token is not written at every use


class Tokens:
    """The tokens of a catalog."""

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
            (token,) = _read(connection, tokens.c.id == token_id)
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
            (token,) = _read(connection, where)
        if not token.is_valid(at):
            return None
        if token.last_used is None or token.last_used + _NOTED_EVERY < at:
            self._database.write(lambda c: c.execute(update(tokens).where(where).values(last_used=at)))
        return token

    def list(self, user: str | None = None) -> Sequence[Token]:
        """The tokens of a person, or of all, oldest first."""
        with self._database.reading() as connection:
            return _read(connection, None if user is None else users.c.name_key == stored_fold(user))

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


def _read(connection: Connection, where: ColumnElement[bool] | None) -> list[Token]:
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
