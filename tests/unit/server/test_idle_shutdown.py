# SPDX-License-Identifier: Apache-2.0
"""When a local server ends by itself."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive, Scope, Send

from aboard.server.http.serving import IdleShutdown
from support.shipping import Hands

REQUEST: Scope = {"type": "http"}


async def _nothing() -> Message:
    return {}


async def _ignored(_: Message) -> None:
    return None


async def _answered(_scope: Scope, _receive: Receive, _send: Send) -> None:
    return None


def test_it_ends_so_long_after_the_last_request() -> None:
    clock = Hands()
    idle = IdleShutdown(_answered, 60, lambda: True, clock=clock)
    clock.move(59)
    assert not idle.is_over
    asyncio.run(idle(REQUEST, _nothing, _ignored))
    clock.move(59)
    assert not idle.is_over
    clock.move(1)
    assert idle.is_over


def test_an_open_request_and_a_board_keep_it() -> None:
    clock, seen = Hands(), list[bool]()

    async def streamed(_scope: Scope, _receive: Receive, _send: Send) -> None:
        clock.move(3600)
        seen.append(idle.is_over)

    idle = IdleShutdown(streamed, 60, lambda: True, clock=clock)
    asyncio.run(idle(REQUEST, _nothing, _ignored))
    assert seen == [False]
    has_boards = IdleShutdown(_answered, 60, lambda: True, lambda: True, clock=clock)
    clock.move(3600)
    assert not has_boards.is_over


def test_one_that_nobody_can_find_ends_at_once() -> None:
    is_published = True
    idle = IdleShutdown(_answered, 60, lambda: is_published, lambda: True, clock=Hands())
    assert not idle.is_over
    is_published = False
    assert idle.is_over
