# SPDX-License-Identifier: Apache-2.0
"""The page as files of the package: the document for every address of it, and what it loads, compressed beforehand.

Imports the standard library only: `aboard view` sends the page before the packages of its API are loaded.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from aboard.model.names import folded, workspace_name
from aboard.server.http.asgi import Receive, Scope, Send, SimpleResponse, headers_of, redirect, text_response

FOLDER = Path(__file__).parent / "_web"
ALL_WORKSPACES = "*"
"""Stands in addresses of the page for all workspaces."""
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'"
)
_UNFRAMED = "; frame-ancestors 'none'"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
TENSORBOARD = "/tensorboard/"
PATHS = ("/", "/w", "/w/{rest:path}", "/favicon.svg", "/favicon.ico", "/_page/{rest:path}")
"""The paths that `PageFiles` answers."""
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

    def __init__(
        self,
        folder: Path = FOLDER,
        *,
        prefix: str = "",
        facts: Mapping[str, str] | None = None,
        may_be_framed: bool = False,
    ) -> None:
        """`prefix`: the path below which browsers reach the server. The page reads `facts` from `<html data-…>`.

        `may_be_framed`: by pages of other origins, such as a notebook; only where nothing can be changed.
        """
        self._files = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        # The one file with addresses in it; the document is the same for every address of the page, at any depth.
        document = self._files.get("index.html", b"").replace(b'="./', f'="{prefix}/'.encode("ascii"))
        document = document.replace(b"<html ", f"<html {_attributes(facts or {})}".encode("utf-8", "replace"), 1)
        if document:
            packed = {"index.html.gz": gzip.compress(document)}
            self._files = {**self._files, "index.html": document, **packed}
            self._files.pop("index.html.br", None)
        self._policy = _POLICY.format(scripts=_allowed_scripts(self._files.get("index.html", b"")))
        self._framing = () if may_be_framed else (("x-frame-options", "DENY"),)
        if not may_be_framed:
            self._policy += _UNFRAMED

    @property
    def is_built(self) -> bool:
        return "index.html" in self._files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        accepted = headers_of(scope).get("accept-encoding", "")
        await self.response(path, accepted)(scope, receive, send)

    def response(self, path: str, accepted: str) -> SimpleResponse:
        """What is at a path; `accepted` are the encodings that the browser accepts."""
        match path.lstrip("/").partition("/")[0]:
            case "favicon.svg":
                return self._file("favicon.svg", accepted, "public, max-age=86400")
            case "favicon.ico":
                return redirect("/favicon.svg", 308)
            case "_page":
                # The name of such a file changes with its content.
                return self._file(path.lstrip("/"), accepted, _FOREVER)
            case _:
                return self._document(accepted)

    def _document(self, accepted: str) -> SimpleResponse:
        if not self.is_built:
            return text_response(200, _NOT_BUILT)
        headers = (("content-security-policy", self._policy), ("referrer-policy", "same-origin"), *self._framing)
        return self._file("index.html", accepted, _REVALIDATE, headers)

    def _file(self, name: str, accepted: str, caching: str, headers: Iterable[tuple[str, str]] = ()) -> SimpleResponse:
        content, kind = self._files.get(name), _KINDS.get(Path(name).suffix)
        if content is None or kind is None:
            return text_response(404, "There is no such file.\n")
        encoding = [("vary", "Accept-Encoding")]
        for accepted_one, suffix in _ENCODINGS:
            if accepted_one in accepted and (packed := self._files.get(name + suffix)) is not None:
                content = packed
                encoding.append(("content-encoding", accepted_one))
                break
        common = (("cache-control", caching), ("x-content-type-options", "nosniff"))
        return SimpleResponse(200, content, kind, (*common, *encoding, *headers))


class FolderPage:
    """The page over folders. Its document names the source, so it can be sent before anything was read."""

    def __init__(
        self,
        title: str,
        *,
        prefix: str = "",
        opens_tensorboard: bool = False,
        may_be_framed: bool = False,
        folder: Path = FOLDER,
    ) -> None:
        """With `opens_tensorboard`, or without a built page, the address of the server leads to TensorBoard."""
        self._workspace, self._prefix = workspace_name(title), prefix
        facts = {"source": "folders", "title": title, "workspace": self._workspace}
        self._files = PageFiles(folder, prefix=prefix, facts=facts, may_be_framed=may_be_framed)
        opens_tensorboard = opens_tensorboard or not self._files.is_built
        self._front = TENSORBOARD if opens_tensorboard else f"/w/{self._workspace}/compare"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = self._leads_to(scope["path"], scope["query_string"].decode("latin-1"))
        if target is not None:
            await redirect(f"{self._prefix}{target}", 307)(scope, receive, send)
        else:
            await self._files(scope, receive, send)

    def _leads_to(self, path: str, query: str) -> str | None:
        """Where an address leads; one of another source, which had the same port before, to the same place here."""
        root, _, rest = path.strip("/").partition("/")
        if root == "" or (root == "w" and not rest):
            return f"{self._front}?{query}" if query else self._front
        workspace, _, place = rest.partition("/")
        if root != "w" or folded(workspace) in (folded(self._workspace), ALL_WORKSPACES):
            return None
        return f"/w/{self._workspace}/{place.partition('/')[0]}"


def _attributes(facts: Mapping[str, str]) -> str:
    return "".join(f'data-{name}="{escape(value)}" ' for name, value in facts.items())


def _allowed_scripts(document: bytes) -> str:
    """The page's own files, and the script that stands in its document, by checksum."""
    sums = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _INLINE.findall(document)]
    return " ".join(["'self'", *(f"'sha256-{one}'" for one in sums)])
