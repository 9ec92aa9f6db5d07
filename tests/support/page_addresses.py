# SPDX-License-Identifier: Apache-2.0
"""What the address of a page says of its view, asked of the page itself: what playwright was told of it comes later."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit


def query_of(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.evaluate("location.href")).query)
