# SPDX-License-Identifier: Apache-2.0
"""Codes that stand in an address, work once and not for long, and are kept as digests."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select

from aboard.catalog.database import Database
from aboard.catalog.digests import digest, new_secret
from aboard.catalog.people import user_id
from aboard.catalog.schema import login_codes, users
from aboard.model.times import now


class LoginCodes:
    """The codes of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(self, user: str, *, lifetime: timedelta, challenge: str = "") -> str:
        """A new code for a person; with a challenge it is good only for who knows what that is a digest of."""
        secret, at = new_secret(), now()

        def work(connection: Connection) -> None:
            row = {"hash": digest(secret), "user_id": user_id(connection, user), "challenge": challenge}
            connection.execute(insert(login_codes).values(**row, created=at, expires=at + lifetime))
            connection.execute(delete(login_codes).where(login_codes.c.expires <= at))

        self._database.write(work)
        return secret

    def redeem(self, code: str, *, verifier: str = "") -> str | None:
        """The person for whom a code is, which is worth nothing afterwards, whether the verifier was right or not."""
        challenge = digest(verifier) if verifier else ""
        where = login_codes.c.hash == digest(code)
        with self._database.reading() as connection:
            # A guess must not wait for, or hold up, those who write.
            if connection.execute(select(login_codes.c.user_id).where(where)).first() is None:
                return None

        def work(connection: Connection) -> str | None:
            query = select(users.c.name, login_codes.c.challenge).join_from(login_codes, users)
            query = query.where(where, login_codes.c.expires > now(), users.c.disabled.is_(None))
            found = connection.execute(query).first()
            # Of two who show it at once only one deletes it.
            was_mine = connection.execute(delete(login_codes).where(where)).rowcount == 1
            return found.name if found is not None and was_mine and found.challenge == challenge else None

        return self._database.write(work)
