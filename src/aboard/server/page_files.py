# SPDX-License-Identifier: Apache-2.0
"""The page as files of the package: the document for every address of it, and what it loads, compressed beforehand."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

FOLDER = Path(__file__).parent / "_web"
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'"
)
_UNFRAMED = "; frame-ancestors 'none'"
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_FOREVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_NOT_BUILT = (
    "This is an aboard server. It was installed without its page, which a clone does not have built.\n"
    "Run `make page` in the clone (needs Node 20 or newer), install aboard again, and restart the server.\n"
    "Boards (`aboard view`, `aboard board`) and the API below /api/v1/ work without it.\n"
)


def is_page_built(folder: Path = FOLDER) -> bool:
    """Whether this installation has the page: a wheel made of a clone has it when `make page` ran before."""
    return (folder / "index.html").is_file()


class PageFiles:
    """Answers with files that were built into `folder`; they are read once, for there are few of them."""

    def __init__(self, folder: Path = FOLDER, *, prefix: str = "", may_be_framed: bool = False) -> None:
        """`prefix`: the path below which browsers reach the server. `may_be_framed`: by pages of other origins."""
        self._files = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        # The one file with addresses in it; the document is the same for every address of the page, at any depth.
        document = self._files.get("index.html", b"").replace(b'="./', f'="{prefix}/'.encode("ascii"))
        if document:
            packed = {"index.html.gz": gzip.compress(document)}
            self._files = {**self._files, "index.html": document, **packed}
            self._files.pop("index.html.br", None)
        self._policy = _POLICY.format(scripts=_allowed_scripts(self._files.get("index.html", b"")))
        self._framing = {} if may_be_framed else {"x-frame-options": "DENY"}
        if not may_be_framed:
            self._policy += _UNFRAMED

    def routes(self) -> list[Route]:
        return [
            Route("/", self._front),
            Route("/w", self._front),
            Route("/w/{rest:path}", self._document),
            Route("/favicon.svg", self._icon),
            Route("/favicon.ico", _redirect_to_icon),
            Route("/_page/{name:path}", self._asset),
        ]

    async def _front(self, request: Request) -> Response:
        return await self._document(request)

    async def _document(self, request: Request) -> Response:
        if "index.html" not in self._files:
            return PlainTextResponse(_NOT_BUILT)
        headers = {
            "content-security-policy": self._policy,
            "referrer-policy": "same-origin",
            "x-content-type-options": "nosniff",
            **self._framing,
        }
        return self._file(request, "index.html", _REVALIDATE, headers)

    async def _icon(self, request: Request) -> Response:
        return self._file(request, "favicon.svg", "public, max-age=86400")

    async def _asset(self, request: Request) -> Response:
        # The name of such a file changes with its content.
        return self._file(request, f"_page/{request.path_params['name']}", _FOREVER)

    def _file(self, request: Request, name: str, caching: str, headers: dict[str, str] | None = None) -> Response:
        content, kind = self._files.get(name), _KINDS.get(Path(name).suffix)
        if content is None or kind is None:
            return PlainTextResponse("There is no such file.\n", 404)
        told = {"cache-control": caching, "vary": "Accept-Encoding", "x-content-type-options": "nosniff"}
        accepted = request.headers.get("accept-encoding", "")
        for encoding, suffix in _ENCODINGS:
            if encoding in accepted and (packed := self._files.get(name + suffix)) is not None:
                content, told["content-encoding"] = packed, encoding
                break
        return Response(content, media_type=kind, headers={**told, **(headers or {})})


def _allowed_scripts(document: bytes) -> str:
    """The page's own files, and the script that stands in its document, by checksum."""
    sums = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _INLINE.findall(document)]
    return " ".join(["'self'", *(f"'sha256-{one}'" for one in sums)])


async def _redirect_to_icon(_: Request) -> Response:
    return RedirectResponse("/favicon.svg", 308)
