# SPDX-License-Identifier: Apache-2.0
"""What axe-core finds wrong in a page of a browser, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.processes import needs

_AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
# Another theme changes colours and nothing else.
_RULES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "dark": ["color-contrast"]}


def violations(page: Any, place: str, exclude: Sequence[str] = (), *, says_theme: bool = True) -> list[str]:
    """A line for each; the page says of itself which theme it has, or changes by its style alone."""
    needs("" if _AXE.exists() else "axe-core is not installed: run scripts/run-in-web test")
    page.evaluate(_AXE.read_text("utf-8"))
    found: list[str] = []
    for theme, rules in _RULES.items():
        page.emulate_media(color_scheme=theme)
        if says_theme:
            page.locator(f"html[data-theme={theme}]").wait_for()
        result = page.evaluate(
            "([rules, exclude]) => axe.run({ exclude }, { runOnly: rules, iframes: false })", [rules, list(exclude)]
        )
        found += [
            f"{place}, {theme}: {wrong['id']}: {wrong['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
            for wrong in result["violations"]
            for node in wrong["nodes"][:3]
        ]
    page.emulate_media(color_scheme="light")
    return found
