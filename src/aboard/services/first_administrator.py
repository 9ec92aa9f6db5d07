# SPDX-License-Identifier: Apache-2.0
"""The first administrator of a server, and the way back in for who has locked themselves out."""

from __future__ import annotations

from datetime import timedelta

from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, UnknownName
from aboard.model.names import usable_name
from aboard.model.times import now
from aboard.services.logins import name_subject

_LIFETIME = timedelta(hours=1)


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
    return catalog.login_codes.issue(name, lifetime=_LIFETIME)
