# SPDX-License-Identifier: Apache-2.0
"""Requests and responses about people, their roles and tokens, logins, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.model.people import Role, Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may log in, or might."""

    name: str
    display_name: str = ""
    administrator: bool = False
    """Of the server: has every role everywhere."""
    created: datetime | None = None
    disabled: datetime | None = None
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    """By workspace, as far as who asks may see these."""
    most: Role = Role.ADMIN
    """Of who asks: what the token is good for at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPerson:
    """Somebody to let in."""

    name: str
    display_name: str = ""
    administrator: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChange:
    """What is to change; what is None stays as it is."""

    display_name: str | None = None
    administrator: bool | None = None
    disabled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChange:
    """A role in a workspace; none takes it away."""

    person: str
    workspace: str
    role: Role | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Who has which role in a workspace."""

    workspace: str
    members: Mapping[str, Role]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to make: for who asks, or, by an administrator, for another person."""

    name: str
    scopes: tuple[str, ...] = ()
    """read, write, admin; without any it may do all that its owner may."""
    expires_seconds: float | None = None
    """From now on; none: never."""
    person: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedToken:
    """A new token and its text, which is shown only once."""

    token: Token
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginMethods:
    """How people log in to this server; readable without a login."""

    mode: str
    """personal, tokens, header or oidc."""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLinkRequest:
    """A request for an address that logs a browser in once."""

    path: str = "/"
    """Where the browser goes then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLink:
    """The path of an address that logs a browser in once; it expires after a few minutes."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginCodeExchange:
    """A login code that a browser passed to a local program, with the verifier that proves who requested it."""

    code: str
    verifier: str
    name: str = ""
    """What the token shall be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditChange:
    """An entry of the audit log."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    details: Mapping[str, object] = field(default_factory=dict[str, object])
