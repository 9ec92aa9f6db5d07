# SPDX-License-Identifier: Apache-2.0
"""Zooms into charts of the page with the mouse, and what its address says of them."""

from __future__ import annotations

from typing import Any

from support.chart_files import card
from support.page_addresses import query_of


def drag(page: Any, tag: str, start: float, end: float) -> None:
    """From one part of the width of a chart to another."""
    box = card(page, tag).locator(".u-over").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, y, steps=4)
    page.mouse.up()


def zoom_of(page: Any) -> tuple[float, float]:
    """The part of the axis that the address names."""
    first, last = query_of(page)["zoom"][0].split("~")
    return float(first), float(last)
