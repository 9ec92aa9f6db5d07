# SPDX-License-Identifier: Apache-2.0
"""Security headers of responses: content security policy, framing, sniffing, and a sandbox for users' files.

Headers that a response sets itself are kept. TensorBoard's pages bring their own policy; only `frame-ancestors` is
added to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from aboard.server.http.asgi import ASGIApp, Message, Receive, Scope, Send

_BOARDS = ("/boards/", "/_tb/", "/proxy/")
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)
_API = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_PAGE = (
    b"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
    b"base-uri 'none'; form-action 'self'"
)


class SecurityHeadersMiddleware:
    """Adds the headers. `origins` are other sites that may show boards in frames, which are below `boards`."""

    def __init__(
        self, app: ASGIApp, *, is_secure: bool, origins: Iterable[str] = (), boards: tuple[str, ...] = _BOARDS
    ) -> None:
        self._app, self._boards = app, boards
        self._framed_by = b"frame-ancestors " + " ".join(["'self'", *sorted(origins)]).encode()
        self._hsts = [(b"strict-transport-security", b"max-age=31536000")] if is_secure else []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                message = {**message, "headers": [*self._kept(given), *self._added(scope["path"], given)]}
            await send(message)

        await self._app(scope, receive, sending)

    def _kept(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return [pair for pair in given if pair[0].lower() != b"content-security-policy"]

    def _added(self, path: str, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        said = {name.lower() for name, _ in given}
        policies = [value for name, value in given if name.lower() == b"content-security-policy"]
        added = [pair for pair in (*_ALWAYS, *self._hsts) if pair[0] not in said]
        if path.startswith("/api/") and b"cache-control" not in said:
            added.append((b"cache-control", b"no-store"))
        kind = next((value for name, value in given if name.lower() == b"content-type"), b"")
        return [*added, *((b"content-security-policy", value) for value in self._policies(path, kind, policies))]

    def _policies(self, path: str, kind: bytes, said: list[bytes]) -> list[bytes]:
        """The policies of a response of this content type, which all hold together."""
        if path.startswith(self._boards):
            # TensorBoard's pages bring a policy; the error pages of its plugins do not. Scripts of workers need none.
            is_document = not kind or any(word in kind.lower() for word in (b"html", b"xml"))
            own = said or ([b"default-src 'none'"] if is_document else [])
            return [*own, self._framed_by + b"; object-src 'none'; base-uri 'self'"]
        if said:
            return said
        return [_API] if path.startswith("/api/") else [_PAGE + b"; " + self._framed_by]


_SANDBOX = "sandbox; default-src 'none'; style-src 'none'; frame-ancestors 'none'"


def sandbox_headers(*, save_as: str | None = None) -> dict[str, str]:
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
