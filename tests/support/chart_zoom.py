# SPDX-License-Identifier: Apache-2.0
"""Zooms into charts of the page with the mouse, and what its address says of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.chart_files import card


def drag(page: Any, tag: str, start: float, end: float) -> None:
    """From one part of the width of a chart to another."""
    box = card(page, tag).locator(".plot").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, y, steps=4)
    page.mouse.up()


def zoom_of(page: Any) -> tuple[float, float]:
    """The part of the axis that the address names, by the page itself: playwright hears of it later."""
    query = parse_qs(urlsplit(page.evaluate("location.href")).query)
    first, last = query["zoom"][0].split("~")
    return float(first), float(last)
