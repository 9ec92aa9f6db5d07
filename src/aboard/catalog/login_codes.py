# SPDX-License-Identifier: Apache-2.0
"""Codes that stand in an address, work once and not for long, and are kept as digests."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from aboard.catalog.database import Database
from aboard.catalog.digests import digest, new_secret
from aboard.catalog.people import user_id
from aboard.catalog.schema import login_codes, tokens, users
from aboard.model.times import now


class CodeHolder(NamedTuple):
    """The person whom a code logs in, and the token that requested the code, if any."""

    user: str
    token_id: str | None


class LoginCodes:
    """The codes of a catalog."""

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
