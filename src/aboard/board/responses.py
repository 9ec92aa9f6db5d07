# SPDX-License-Identifier: Apache-2.0
"""Large JSON on its way to a browser: in pieces that are never put together, and compressed quickly."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from werkzeug.wrappers import Request, Response

_isal_zlib: Any = importlib.import_module("isal.isal_zlib")  # has no types
_WORTH_COMPRESSING = 1024
_HEADERS = {"X-Content-Type-Options": "nosniff", "Expires": "0", "Cache-Control": "no-cache, must-revalidate"}


def json_response(request: Request, *pieces: bytes) -> Response:
    """An answer with the JSON that the pieces make; compressed for those who read that.

    Also on loopback: a browser there is often at the other end of an ssh tunnel.
    """
    headers = dict(_HEADERS)
    body: Sequence[bytes] = pieces
    if request.accept_encodings.quality("gzip") > 0 and sum(map(len, pieces)) >= _WORTH_COMPRESSING:
        body = list(_compressed(pieces))
        headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(sum(map(len, body)))
    return Response(body if request.method != "HEAD" else None, headers=headers, content_type="application/json")


def _compressed(pieces: Sequence[bytes]) -> Iterator[bytes]:
    # Four times as fast as zlib at the same size; and it lets other threads work meanwhile.
    compressor = _isal_zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()
