# SPDX-License-Identifier: Apache-2.0
"""Users of the catalog, their roles in workspaces, and the audit log of what they changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.database import Database
from aboard.catalog.lookup import stored_fold, unknown_name_error, workspace_id
from aboard.catalog.paging import Cursor, ResultPage, check_limit
from aboard.catalog.schema import audit, memberships, users, workspaces
from aboard.errors import Conflict
from aboard.model.names import check_name
from aboard.model.people import Role, User
from aboard.model.times import now

_ABLE = users.c.is_administrator.is_(True), users.c.disabled.is_(None)
"""Administrators who may log in."""


class People:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, *, display_name: str = "", subject: str = "", is_administrator: bool = False) -> User:
        """Let a person in. A name, or who somebody is to an outside login (`subject`), can be there once."""
        row = {"name": check_name(name, "a person"), "name_key": stored_fold(name), "display_name": display_name}
        row |= {"subject": subject or None}

        def work(connection: Connection) -> None:
            connection.execute(insert(users).values(**row, is_administrator=is_administrator, created=now()))

        try:
            self._database.write(work)
        except IntegrityError:
            raise Conflict(f"there is a person {name!r} already", hint="choose another name") from None
        return self.get(name)

    def get(self, name: str) -> User:
        """The person of that name; capitals make no difference."""
        with self._database.reading() as connection:
            found = _read(connection, [users.c.name_key == stored_fold(name)])
            if not found:
                raise unknown_name_error("person", name, list(connection.scalars(select(users.c.name_key))))
        return found[0]

    def by_subject(self, subject: str) -> User | None:
        """The person whom an outside login calls so."""
        with self._database.reading() as connection:
            found = _read(connection, [users.c.subject == subject]) if subject else []
        return found[0] if found else None

    def list(self) -> Sequence[User]:
        """All people, by name."""
        with self._database.reading() as connection:
            return _read(connection, [])

    def change(
        self,
        name: str,
        *,
        display_name: str | None = None,
        is_administrator: bool | None = None,
        subject: str | None = None,
        disabled: bool | None = None,
        keep_administrator: bool = False,
    ) -> User:
        """Change what is known of a person.

        With `keep_administrator` it is a conflict if no administrator would be left who may log in.
        """
        values = {"display_name": display_name, "is_administrator": is_administrator, "subject": subject}
        given: dict[str, object] = {key: value for key, value in values.items() if value is not None}
        if disabled is not None:
            given["disabled"] = now() if disabled else None
        loses = disabled is True or is_administrator is False

        def work(connection: Connection) -> None:
            if keep_administrator and loses:
                _check_not_last(connection, name)
            user = user_id(connection, name)
            connection.execute(update(users).where(users.c.id == user).values(**given))

        if given:
            self._database.write(work)
        return self.get(name)

    def disable(self, name: str) -> User:
        """Keep a person out; their tokens and sessions open nothing any more."""
        return self.change(name, disabled=True)

    def administrators(self) -> int:
        """How many administrators there are who may log in."""
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(users).where(*_ABLE)).scalar_one()

    def enable(self, name: str) -> User:
        """Let a person in again."""
        return self.change(name, disabled=False)

    def set_role(self, name: str, workspace: str, role: Role | None) -> None:
        """Give a person a role in a workspace, another one, or none."""

        def work(connection: Connection) -> None:
            user = user_id(connection, name)
            key = {"user_id": user, "workspace_id": workspace_id(connection, workspace)}
            connection.execute(delete(memberships).filter_by(**key))
            if role is not None:
                connection.execute(insert(memberships).values(**key, role=str(role)))

        self._database.write(work)

    def roles(self, name: str, *, in_bin_too: bool = False) -> Mapping[str, Role]:
        """A person's role in each workspace where they have one."""
        query = select(workspaces.c.name, memberships.c.role).join_from(memberships, workspaces).join(users)
        query = query.where(users.c.name_key == stored_fold(name))
        if not in_bin_too:
            query = query.where(workspaces.c.deleted.is_(None))
        with self._database.reading() as connection:
            return {workspace: Role(role) for workspace, role in connection.execute(query.order_by(workspaces.c.name))}

    def members(self, workspace: str) -> Mapping[str, Role]:
        query = select(users.c.name, memberships.c.role).join_from(memberships, users)
        with self._database.reading() as connection:
            inside = memberships.c.workspace_id == workspace_id(connection, workspace)
            found = connection.execute(query.where(inside).order_by(users.c.name))
            return {name: Role(role) for name, role in found}


def user_id(connection: Connection, name: str) -> int:
    """The key of a person; on PostgreSQL their row is locked, so that changes follow each other."""
    query = select(users.c.id).where(users.c.name_key == stored_fold(name)).with_for_update()
    found = connection.execute(query).scalar()
    if found is None:
        raise unknown_name_error("person", name, list(connection.scalars(select(users.c.name_key))))
    return found


def _check_not_last(connection: Connection, name: str) -> None:
    """Refuse to take away the last administrator. Their rows are locked, so that two changes cannot both pass."""
    query = select(users.c.name, users.c.name_key).where(*_ABLE).order_by(users.c.id).with_for_update()
    able = connection.execute(query).all()
    if len(able) == 1 and able[0].name_key == stored_fold(name):
        raise Conflict(f"{able[0].name} is the last administrator", hint="make somebody else one first")


def _read(connection: Connection, where: Sequence[ColumnElement[bool]]) -> list[User]:
    plain = ("name", "created", "display_name", "is_administrator", "disabled")
    rows = connection.execute(select(users).where(*where).order_by(users.c.name_key)).mappings()
    return [User(subject=row["subject"] or "", **{name: row[name] for name in plain}) for row in rows]


_ORDER = "audit"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change: who (`actor`) did what (`action`) to what (`target`, as in `run343`), and what else is to know."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    details: Mapping[str, object]


class Audit:
    """The record of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, actor: str, action: str, target: str, details: Mapping[str, object] | None = None) -> None:
        """Note a change."""
        row = {"at": now(), "actor": actor, "action": action, "target": target, "details": dict(details or {})}
        self._database.write(lambda connection: connection.execute(insert(audit).values(**row)))

    def list(
        self, *, actor: str | None = None, target: str | None = None, limit: int = 100, after: str | None = None
    ) -> ResultPage[AuditEntry]:
        """One page of the record, newest first."""
        check_limit(limit)
        where: list[ColumnElement[bool]] = []
        if actor is not None:
            where.append(audit.c.actor == actor)
        if target is not None:
            where.append(audit.c.target == target)
        if after is not None:
            where.append(audit.c.id < Cursor.read(after, _ORDER).number)
        query = select(audit).where(*where).order_by(audit.c.id.desc()).limit(limit + 1)
        with self._database.reading() as connection:
            found = [AuditEntry(**row) for row in connection.execute(query).mappings()]
        more = len(found) > limit
        return ResultPage(found[:limit], Cursor(0, None, found[limit - 1].id).text(_ORDER) if more else None)
