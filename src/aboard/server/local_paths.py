# SPDX-License-Identifier: Apache-2.0
"""Where a browser is sent after a login: always to a place on this server."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

_KEPT = "/:@!$&'()*+,;=~%-._"


def local_path(wanted: str) -> str:
    r"""`wanted` if it is a path on this server, or its front page. Browsers take '//' and '/\' for other servers."""
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    if not is_local or any(ord(character) < 33 or character == "\\" for character in wanted):
        return "/"
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return "/"
    if parts.scheme or parts.netloc or parts.path.startswith("//"):
        return "/"
    path = quote(parts.path, safe=_KEPT)
    return f"{path}?{quote(parts.query, safe=_KEPT + '?')}" if parts.query else path
