# SPDX-License-Identifier: Apache-2.0
"""Values of settings, from what stands in a file or in a variable."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from aboard.config.sizes import parse_size
from aboard.errors import InvalidValue
from aboard.model.names import check_workspace_name
from aboard.model.user import Role

Parse = Callable[[object], object]
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")


def text(value: object) -> str:
    """A text; a number may stand for one."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise InvalidValue(f"{value!r} stands where a text is expected")
    return str(value)


def size(value: object) -> int:
    """Bytes."""
    return parse_size(text(value))


def whole(least: int, most: int) -> Parse:
    """A whole number in this range."""

    def parse(value: object) -> int:
        try:
            number = int(text(value))
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise InvalidValue(f"{value!r} is not a whole number from {least} to {most}")
        return number

    return parse


def one_of(*choices: str) -> Parse:
    """One of these words."""

    def parse(value: object) -> str:
        if value not in choices:
            raise InvalidValue(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return parse


def many(part: Callable[[object], object] = text, *, between: str = ",") -> Parse:
    """A list; in a variable something stands between its entries."""

    def parse(value: object) -> tuple[object, ...]:
        if isinstance(value, str):
            value = [one.strip() for one in value.split(between) if one.strip()]
        if not isinstance(value, list):
            raise InvalidValue(f"{value!r} stands where a list is expected", hint='write ["one", "another"]')
        return tuple(part(one) for one in cast("list[object]", value))

    return parse


def http_url(value: object) -> str:
    """The address of a web site, without what follows the path."""
    given = text(value).rstrip("/")
    try:
        parts = urlsplit(given)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_fine = False
    if not is_fine or "?" in given or "#" in given:
        raise InvalidValue(f"{value!r} is not an address", hint="write https://aboard.example.org")
    return given


def origin(value: object) -> str:
    """Scheme, host and port."""
    given = http_url(value)
    if urlsplit(given).path:
        raise InvalidValue(f"{value!r} is more than an origin", hint="write https://name:port without a path")
    return given.lower()


def network(value: object) -> str:
    """An address or a range of them."""
    try:
        return str(ipaddress.ip_network(text(value), strict=False))
    except ValueError:
        raise InvalidValue(f"{value!r} is not an address", hint="write 10.0.0.7 or 10.0.0.0/8") from None


def header_name(value: object) -> str:
    """The name of a header."""
    if _HEADER.fullmatch(text(value)) is None:
        raise InvalidValue(f"{value!r} is not the name of a header", hint="write X-Forwarded-User")
    return text(value)


def workspace_role(value: object) -> str:
    """`workspace:role`."""
    workspace, colon, role = text(value).partition(":")
    if not colon or role not in list(Role):
        hint = f"write workspace:role; roles are {', '.join(Role)}"
        raise InvalidValue(f"{value!r} is not a role in a workspace", hint=hint)
    check_workspace_name(workspace)
    return text(value)


def group_role(value: object) -> str:
    """`group=workspace:role`."""
    group, equals, role = text(value).rpartition("=")
    if not equals or not group:
        raise InvalidValue(f"{value!r} gives no group a role", hint="write group=workspace:role")
    workspace_role(role)
    return text(value)
