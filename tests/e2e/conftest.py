# SPDX-License-Identifier: Apache-2.0
"""One browser for the tests of this folder, and a visitor of the page for each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from support.browsing import launched
from support.page_world import Visitor, World

SCREENSHOTS = os.environ.get("ABOARD_SCREENSHOTS")


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    """Not for the whole session: the event loop that it leaves running would stop `asyncio.run` in other tests."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Any) -> Iterator[Any]:
    with launched(playwright) as browser:
        yield browser


@pytest.fixture
def visit(world: World, browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Opens an address; at the end nothing may have gone wrong in the page. Pictures go to `$ABOARD_SCREENSHOTS`."""
    visitors: list[Visitor] = []

    def open_address(path: str, **context: Any) -> Any:
        visitor = Visitor(world, browser, **context)
        visitors.append(visitor)
        return visitor.open(path)

    yield open_address
    for number, visitor in enumerate(visitors):
        if SCREENSHOTS:
            visitor.page.screenshot(path=str(Path(SCREENSHOTS) / f"{request.node.name}-{number}.png"))
        visitor.close()
