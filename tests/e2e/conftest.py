# SPDX-License-Identifier: Apache-2.0
"""One browser for the tests of a file, and a visitor of the page for each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browsing import chromium
from support.page_world import Visitor, World

SCREENSHOTS = os.environ.get("ABOARD_SCREENSHOTS")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
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
