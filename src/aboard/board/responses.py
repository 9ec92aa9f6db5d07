# SPDX-License-Identifier: Apache-2.0
"""Large JSON on its way to a browser: made in pieces, compressed quickly, and kept until something changes."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from werkzeug.wrappers import Request, Response

from aboard.board.answer_cache import ANSWERS
from aboard.board.nearness import is_near
from aboard.board.tensorboard_parts import errors

LARGEST_RESPONSE = 256 << 20
"""Bytes of JSON, before it is compressed. One question may name the same curves many times."""
PIECE_BYTES = 1 << 19  # of what is still to be compressed: it stays in the cache of the processor meanwhile

_isal_zlib: Any = importlib.import_module("isal.isal_zlib")  # has no types
_HEADERS = {"X-Content-Type-Options": "nosniff", "Expires": "0", "Cache-Control": "no-cache, must-revalidate"}


class Question(NamedTuple):
    """What is asked of a board, and how things stand: the same question is answered alike until they change."""

    board: Hashable
    words: tuple[str, ...]
    stamp: int


def json_response(request: Request, question: Question, answer: Callable[[], Iterable[bytes]]) -> Response:
    """An answer with the JSON of which `answer` makes the pieces; compressed for those far away who read that."""
    compressed = request.accept_encodings.quality("gzip") > 0 and not is_near(request.environ)
    key = question.board, question.words, compressed
    body = ANSWERS.find(key, question.stamp)
    if body is None:
        # As one: every piece more costs a tenth of a millisecond on its way through threads, and the lack of a length
        # (sent while it is made) a copy of every byte.
        pieces = _bounded(answer())
        body = b"".join(_compressed(pieces) if compressed else pieces)
        ANSWERS.keep(key, question.stamp, body)
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
