# SPDX-License-Identifier: Apache-2.0
"""Which headers pass between a browser and the process of a board.

Towards the process goes nothing that says who somebody is or opens anything. Back comes nothing that would change what
the browser holds for other pages of the origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from aboard.errors import InvalidValue

Headers = list[tuple[bytes, bytes]]

_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)
_ABOUT_PEOPLE = (
    *(b"cookie", b"auth", b"token", b"secret", b"user", b"email", b"principal", b"identity", b"group", b"jwt"),
    *(b"session", b"forwarded", b"x-real-", b"x-aboard-", b"csrf", b"client-cert", b"ssl-", b"account", b"assertion"),
)
"""Parts of names; proxies and clouds have many for the same."""
_HARMLESS = frozenset({b"user-agent"})
_NOT_IN = frozenset({b"host", b"expect", b"origin", b"referer", b"content-length"})
_NOT_OUT = frozenset(
    {
        *(b"set-cookie", b"set-cookie2", b"clear-site-data", b"strict-transport-security", b"alt-svc", b"server"),
        *(b"service-worker-allowed", b"report-to", b"nel", b"reporting-endpoints", b"refresh", b"www-authenticate"),
        *(b"access-control-allow-origin", b"access-control-allow-credentials", b"proxy-authenticate", b"date"),
    }
)


def check_framing(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a request of whose length two who read it could think differently."""
    named = [(name.lower(), value) for name, value in headers]
    lengths = [value for name, value in named if name == b"content-length"]
    codings = [value for name, value in named if name == b"transfer-encoding"]
    if codings and lengths:
        raise InvalidValue("a request has either content-length or transfer-encoding", hint="send one of them")
    if len(lengths) > 1 or len(codings) > 1:
        raise InvalidValue("the length of this request is told twice", hint="tell it once")
    if codings and codings[0].strip().lower() != b"chunked":
        raise InvalidValue(f"transfer-encoding {codings[0]!r} is not understood", hint="chunked is")
    if lengths and not lengths[0].isdigit():
        raise InvalidValue(f"content-length {lengths[0]!r} is no number")


def has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether something follows the headers of a request."""
    found = dict(headers)
    return b"transfer-encoding" in found or found.get(b"content-length", b"0").strip(b"0") != b""


def inward(headers: Headers) -> Headers:
    """What the process gets of the headers of a request; the length of what is sent is the caller's to add."""
    named = _listed(headers)
    return [
        (name, value)
        for name, value in ((name.lower(), value) for name, value in headers)
        if name not in _HOP_BY_HOP
        and name not in named
        and name not in _NOT_IN
        and not name.startswith((b"sec-websocket-", b"proxy-"))
        and (name in _HARMLESS or not any(part in name for part in _ABOUT_PEOPLE))
    ]


def outward(headers: Headers, *, endpoint: str, framed_by: bytes) -> Headers:
    """What a browser gets of the headers of the process; `framed_by` are the pages that may show it in frames."""
    named = _listed(headers)
    found: Headers = []
    for name, value in ((name.lower(), value) for name, value in headers):
        if name in _HOP_BY_HOP or name in named or name in _NOT_OUT:
            continue
        found.append((name, _own_place(value, endpoint) if name in (b"location", b"content-location") else value))
    return [
        *found,
        (b"content-security-policy", b"frame-ancestors " + framed_by),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]


def _listed(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Headers that `Connection` says are for the next one alone."""
    told = [value for name, value in headers if name.lower() == b"connection"]
    return {part.strip().lower() for value in told for part in value.split(b",")}


def _own_place(value: bytes, endpoint: str) -> bytes:
    """An address of the process itself, without where it listens: the browser reaches it elsewhere."""
    parts = urlsplit(value.decode("latin-1"))
    if parts.netloc != endpoint:
        return value
    return parts._replace(scheme="", netloc="").geturl().encode("latin-1")
