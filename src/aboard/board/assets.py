# SPDX-License-Identifier: Apache-2.0
"""The files of TensorBoard's frontend, prepared once per process and shared by all boards.

TensorBoard unpacks and compresses them for every application (half a second and 4 MB each), and its page asks for
fonts at the root of the host, which fails below any prefix. Here a board's page takes fonts and script from
`_tb/<version>/`, beside the boards: a browser loads them once for all boards. Every address is relative to the page,
so a proxy that strips a prefix changes nothing.
"""

from __future__ import annotations

import functools
import gzip
import mimetypes
import struct
import zipfile
from collections.abc import Iterable
from typing import Any, NamedTuple

from aboard.board.tensorboard_api import VERSION, assets

SHARED = f"_tb/{VERSION}/"
ROOT_KEY = "aboard.root"  # in a WSGI environment: how a page gets from its address to where SHARED is
_UNUSED = "tf-imports/"  # the editor of the debugger, which boards do not offer
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
_LOCAL_HEADER_BYTES = 30
_TYPES = {".js": "text/javascript", ".woff2": "font/woff2", ".svg": "image/svg+xml", ".html": "text/html"}
_MARK = b"\0aboard-root\0"


class Asset(NamedTuple):
    """A file of the frontend."""

    content_type: str
    compressed: bytes


@functools.cache
def frontend() -> dict[str, Asset]:
    """Every file but the page, by path."""
    found: dict[str, Asset] = {}
    with assets.get_default_assets_zip_provider()() as file, zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.is_dir() and not info.filename.startswith(_UNUSED) and info.filename != "index.html":
                found[info.filename] = Asset(_content_type(info.filename), _gzipped(file, archive, info))
    return found


def page(root: str) -> bytes:
    """The page of a board from which `root` (such as `../../`) leads to the shared files."""
    return root.encode("ascii").join(_page_pieces())


def at_root(html: bytes, root: str) -> bytes:
    """A page of a plugin with its fonts taken from the shared files."""
    return html.replace(b"url(/font-roboto/", f"url({root}{SHARED}font-roboto/".encode("ascii"))


def serve(path: str, environ: dict[str, Any], start_response: Any, cache: str) -> Iterable[bytes]:
    """Answer with a file of the frontend; compressed unless the client cannot read that."""
    asset = frontend().get(path)
    if asset is None:
        return not_found(start_response)
    headers = [("Content-Type", asset.content_type), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", cache)]
    headers.append(("Vary", "Accept-Encoding"))
    if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", ""):
        body = asset.compressed
        headers.append(("Content-Encoding", "gzip"))
    else:
        body = _plain(path)
    headers.append(("Content-Length", str(len(body))))
    start_response("200 OK", headers)
    return [body]


def serve_shared(path: str, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request below SHARED: the address has the version in it, so the answer never changes."""
    return serve(path, environ, start_response, "public, max-age=31536000, immutable")


def not_found(start_response: Any) -> Iterable[bytes]:
    """Answer 404."""
    start_response("404 Not Found", [("Content-Type", "text/plain"), ("X-Content-Type-Options", "nosniff")])
    return [b"Not found"]


@functools.cache
def _page_pieces() -> list[bytes]:
    with assets.get_default_assets_zip_provider()() as file, zipfile.ZipFile(file) as archive:
        html = archive.read("index.html")
    shared = _MARK + SHARED.encode("ascii")
    html = html.replace(b"url(/font-roboto/", b"url(" + shared + b"font-roboto/")
    html = html.replace(b'src="index.js?', b'src="' + shared + b"index.js?")
    return html.split(_MARK)


@functools.lru_cache(maxsize=4)
def _plain(path: str) -> bytes:
    # Kept for the few clients that read no gzip: unpacking index.js takes a tenth of a second.
    return gzip.decompress(frontend()[path].compressed)


def _gzipped(file: Any, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member as a gzip file: the archive's own compressed bytes in another frame, which costs nothing."""
    if info.compress_type != zipfile.ZIP_DEFLATED:
        return gzip.compress(archive.read(info), mtime=0)
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER_BYTES)
    name_bytes, extra_bytes = struct.unpack("<HH", header[26:30])
    file.seek(info.header_offset + _LOCAL_HEADER_BYTES + name_bytes + extra_bytes)
    return _GZIP_HEADER + file.read(info.compress_size) + struct.pack("<II", info.CRC, info.file_size & 0xFFFFFFFF)


def _content_type(path: str) -> str:
    suffix = path[path.rfind(".") :]
    # What the machine's own tables say about these has been wrong often enough to leave pages blank.
    return _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
