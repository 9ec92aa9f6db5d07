# SPDX-License-Identifier: Apache-2.0
"""How often a page asks the server for something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def count_questions(page: Any, part: str) -> Callable[[], int]:
    """Counts, from now on, the requests whose address has `part`; every call tells how many the page has sent."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if part in request.url else None)

    def so_far() -> int:
        # Requests are told in the order in which they are sent: with this one, all before it are.
        with page.expect_response("**/healthz"):
            page.evaluate("() => void fetch('/healthz')")
        return len(sent)

    return so_far
