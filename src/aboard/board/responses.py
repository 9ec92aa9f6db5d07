# SPDX-License-Identifier: Apache-2.0
"""JSON responses of boards: cached until the data changes, bounded in size, compressed for remote clients.

A page requests all its curves again at every reload, every 30 seconds if the user turned that on. Loopback requests
may come through a tunnel. A proxy reveals itself by a header. ssh, forwarded ports of editors and
`kubectl port-forward` leave traces in the environment of this process, which was then started remotely.
"""

from __future__ import annotations

import importlib
import ipaddress
import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from werkzeug.wrappers import Request, Response

from aboard.board.tensorboard_api import errors

LARGEST_RESPONSE = 256 << 20
"""Bytes of JSON, before it is compressed. One request may name the same curves many times."""
PIECE_BYTES = 1 << 19  # of what is still to be compressed: it stays in the cache of the processor meanwhile

_isal_zlib: Any = importlib.import_module("isal.isal_zlib")  # has no types
_HEADERS = {"X-Content-Type-Options": "nosniff", "Expires": "0", "Cache-Control": "no-cache, must-revalidate"}


class ResponseKey(NamedTuple):
    """A request to a board and the state of its data; the response is the same until the data changes."""

    board: Hashable
    words: tuple[str, ...]
    stamp: int


def json_response(request: Request, key: ResponseKey, answer: Callable[[], Iterable[bytes]]) -> Response:
    """A response with the JSON whose pieces `answer` makes, gzipped for remote clients that accept it."""
    compressed = request.accept_encodings.quality("gzip") > 0 and not is_local_request(request.environ)
    cached = key.board, key.words, compressed
    body = RESPONSES.find(cached, key.stamp)
    if body is None:
        # As one: every piece more costs a tenth of a millisecond on its way through threads, and the lack of a length
        # (sent while it is made) a copy of every byte.
        pieces = _bounded(answer())
        body = b"".join(_compressed(pieces) if compressed else pieces)
        RESPONSES.keep(cached, key.stamp, body)
    headers = {**_HEADERS, "Content-Length": str(len(body))}
    if compressed:
        headers["Content-Encoding"] = "gzip"
    return Response(body if request.method != "HEAD" else None, headers=headers, content_type="application/json")


def _bounded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST_RESPONSE:
            raise errors.InvalidArgumentError(
                f"The response has more than {LARGEST_RESPONSE:,} bytes. Ask for fewer curves, or start the board with "
                "fewer samples."
            )
        yield piece


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # Four times as fast as zlib at the same size; and it lets other threads work meanwhile.
    compressor = _isal_zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


_LARGEST_PART = 4  # an answer may take a quarter of the room


class _CachedResponse(NamedTuple):
    stamp: int
    body: bytes


class ResponseCache:
    """An LRU cache of response bodies, limited in bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _CachedResponse] = OrderedDict()
        self._bytes = 0

    def find(self, request: Hashable, stamp: int) -> bytes | None:
        """Return the response cached for this data stamp, or None."""
        with self._lock:
            kept = self._kept.get(request)
            if kept is None or kept.stamp != stamp:
                return None
            self._kept.move_to_end(request)
            return kept.body

    def keep(self, request: Hashable, stamp: int, body: bytes) -> None:
        """Cache a response that was made after `stamp` was taken."""
        if len(body) > self._most_bytes // _LARGEST_PART:
            return
        with self._lock:
            self._forget(request)
            self._kept[request] = _CachedResponse(stamp, body)
            self._bytes += len(body)
            while self._bytes > self._most_bytes:
                self._forget(next(iter(self._kept)))

    def _forget(self, request: Hashable) -> None:
        kept = self._kept.pop(request, None)
        if kept is not None:
            self._bytes -= len(kept.body)


RESPONSES = ResponseCache(64 << 20)
"""One for all boards of the process."""


_PROXY_HEADERS = (
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
    "HTTP_VIA",
)
_TUNNEL_VARIABLES = (
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "VSCODE_IPC_HOOK_CLI",  # in terminals of its server, not in those of a desktop
    "CODESPACES",
    "KUBERNETES_SERVICE_HOST",
)


def is_local_request(request: Mapping[str, Any], process: Mapping[str, str] = os.environ) -> bool:
    """Whether a request with this WSGI environment comes from a browser on this machine, as far as one can know."""
    if any(name in request for name in _PROXY_HEADERS) or any(name in process for name in _TUNNEL_VARIABLES):
        return False
    return _is_loopback(request.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    try:
        peer = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
    return (mapped or peer).is_loopback
