# SPDX-License-Identifier: Apache-2.0
"""What a chart of the page shows, from the files that it gives away: canvases cannot be asked."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def card(page: Any, tag: str) -> Any:
    """A chart that is drawn."""
    found = page.locator(f"section[data-tag='{tag}']").first
    found.locator("canvas").first.wait_for()
    return found


def rows_of(page: Any, tag: str) -> list[dict[str, str]]:
    """The points that are drawn: curve, x, the value by the name of the tag, low, high, runs."""
    return list(csv.DictReader(_saved(page, tag, "CSV of what is drawn").splitlines()))


def _saved(page: Any, tag: str, kind: str) -> str:
    chart = card(page, tag)
    chart.hover()
    chart.get_by_role("button", name="Download chart").click()
    with page.expect_download() as download:
        page.get_by_text(kind, exact=True).click()
    return Path(download.value.path()).read_text("utf-8")
