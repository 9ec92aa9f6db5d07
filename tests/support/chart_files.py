# SPDX-License-Identifier: Apache-2.0
"""What a chart of the page shows, from the files that it gives away: canvases cannot be asked."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAMES = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Picture:
    """A chart as SVG."""

    root: ET.Element

    def along(self, anchor: str) -> list[str]:
        """What stands along an axis: `middle` below the chart, `end` at its left."""
        return [text.text or "" for text in self.root.iter(f"{_NAMES}text") if text.get("text-anchor") == anchor]

    @property
    def names(self) -> list[str]:
        """Of the curves, below the chart."""
        return [text.text or "" for text in self.root.findall(f"{_NAMES}text") if not text.get("text-anchor")][1:]

    def paths(self, opacity: str | None = None) -> list[str]:
        """Where curves go: those without opacity, raw ones (0.3), areas (0.18), or marks (0.9)."""
        drawn = [path for group in self.root.findall(f"{_NAMES}g") for path in group.iter(f"{_NAMES}path")]
        return [path.get("d", "") for path in drawn if path.get("opacity") == opacity]


def card(page: Any, tag: str) -> Any:
    """A chart that is drawn."""
    found = page.locator(f"section[data-tag='{tag}']").first
    found.locator("canvas").first.wait_for()
    return found


def picture_of(page: Any, tag: str) -> Picture:
    return Picture(ET.fromstring(_saved(page, tag, "SVG")))


def rows_of(page: Any, tag: str) -> list[dict[str, str]]:
    """The points that are drawn: curve, x, the value by the name of the tag, low, high, runs."""
    return list(csv.DictReader(_saved(page, tag, "CSV of what is drawn").splitlines()))


def _saved(page: Any, tag: str, kind: str) -> str:
    chart = card(page, tag)
    chart.hover()
    chart.get_by_role("button", name="Files of this chart").click()
    with page.expect_download() as download:
        page.get_by_text(kind, exact=True).click()
    return Path(download.value.path()).read_text("utf-8")
