# SPDX-License-Identifier: Apache-2.0
"""Settings of a server, and the check of secrets that its operator has chosen.

Generated secrets have 256 random bits, so failed attempts need no limit that could lock out others. A chosen secret
must be hard to guess by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aboard.errors import InvalidValue

LOGIN_MODES = ("personal", "tokens", "header", "oidc")
LOG_FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where a server listens and what it serves."""

    host: str = "127.0.0.1"
    port: int | None = None
    url: str = ""
    boards_port: int | None = None
    boards_url: str = ""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    catalog: str = ""
    roots: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    log_format: str = "text"
    largest_request: int = 64 << 20
    connections: int = 0
    header_seconds: int = 10
    body_seconds: int = 30
    stalled_seconds: int = 300


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The OpenID provider at which people log in."""

    issuer: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    name_claim: str = "preferred_username"
    groups_claim: str = "groups"
    domains: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    administrators: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """How people log in."""

    mode: str = "personal"
    session_hours: int = 14 * 24
    new_people: tuple[str, ...] = ("default:editor",)
    header: str = "X-Forwarded-User"
    proxy_secret: str = field(default="", repr=False)
    oidc: OidcSettings = field(default_factory=OidcSettings)


@dataclass(frozen=True, slots=True)
class BoardHostSettings:
    """Limits on boards, where 0 means no limit, and where boards may run that are processes."""

    limit_per_person: int = 100
    process_limit_per_person: int = 5
    limit_total: int = 0
    executors: tuple[str, ...] = ("local",)
    executor: str = "local"
    image: str = "tensorflow/tensorflow"
    images: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    shared_folder: str = ""
    tensorboard: str = ""
    memory: int = 8 << 30


_SHORTEST = 16
_FEWEST_DIFFERENT = 8


def check_chosen_secret(secret: str, what: str, how: str) -> None:
    """Refuse a secret that is too short or too simple; `what` names it, `how` is a command that makes a good one."""
    if len(secret) < _SHORTEST:
        reason = f"has {_counted(len(secret), 'character')}"
    elif secret.isdecimal():
        reason = "has digits only"
    elif len(set(secret)) < _FEWEST_DIFFERENT:
        reason = f"has {_counted(len(set(secret)), 'different character')}"
    else:
        return
    hint = f"Use at least {_SHORTEST} characters, {_FEWEST_DIFFERENT} of them different, not only digits: {how}"
    raise InvalidValue(f"{what} {reason}, so it can be guessed.", hint=hint)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
