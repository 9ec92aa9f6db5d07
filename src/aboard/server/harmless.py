# SPDX-License-Identifier: Apache-2.0
"""Headers for bytes that others wrote: no browser is to take them for a page, or run what is in them."""

from __future__ import annotations

from urllib.parse import quote

_SANDBOX = "sandbox; default-src 'none'; style-src 'none'; frame-ancestors 'none'"


def harmless_headers(*, save_as: str | None = None) -> dict[str, str]:
    """Headers of such an answer; with `save_as` it is saved under this name rather than shown."""
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _SANDBOX,
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, no-cache",
    }
    if save_as is not None:
        name = save_as.encode("utf-8", "replace").decode()
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return headers
