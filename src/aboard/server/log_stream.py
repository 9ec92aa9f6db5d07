# SPDX-License-Identifier: Apache-2.0
"""The log of a board as server-sent events: what there is, and what comes until the board has ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from aboard.api.wire import to_wire
from aboard.errors import AboardError
from aboard.model.board_line import BoardLine

_POLL_SECONDS = 1.0
_HEARTBEAT_SECONDS = 15.0
_LIFETIME_SECONDS = 900.0  # who may see what is asked anew then
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}

Look = Callable[[int], tuple[Sequence[BoardLine], bool]]
"""The lines behind an id, and whether the board had ended before they were read."""


def log_stream(
    first: Sequence[BoardLine], behind: int, look: Look, is_closing: Callable[[], bool]
) -> StreamingResponse:
    """Each line is an event `line` whose id is that of the line; `end` says that no more will come."""
    return StreamingResponse(_events(first, behind, look, is_closing), media_type="text/event-stream", headers=_HEADERS)


async def _events(
    first: Sequence[BoardLine], behind: int, look: Look, is_closing: Callable[[], bool]
) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    lines, is_over = first, False
    end, spoke = time.monotonic() + _LIFETIME_SECONDS, time.monotonic()
    while True:
        for line in lines:
            behind = max(behind, line.id)
            yield b"id: %d\nevent: line\ndata: %s\n\n" % (line.id, orjson.dumps(to_wire(line)))
            spoke = time.monotonic()
        if is_over:
            yield b"event: end\ndata: {}\n\n"
            return
        if is_closing() or time.monotonic() > end:
            return
        if time.monotonic() - spoke > _HEARTBEAT_SECONDS:
            yield b": still here\n\n"
            spoke = time.monotonic()
        try:
            lines, is_over = await run_in_threadpool(look, behind)
        except AboardError:
            return  # deleted, or no longer to be seen; who comes back is told
        if not lines and not is_over:
            await asyncio.sleep(_POLL_SECONDS)
