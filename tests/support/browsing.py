# SPDX-License-Identifier: Apache-2.0
"""A headless browser for tests that look at pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import expect, sync_playwright

from support.processes import needs

MILLISECONDS = 30_000
"""How long something in a page is waited for: machines are shared."""
expect.set_options(timeout=MILLISECONDS)
SHELL = Path("/usr/bin/chromium-headless-shell")
"""Debian's Chromium without windows: it draws the same, and starts with a third of the work."""
WHOLE = Path("/usr/bin/chromium")
"""The one that people use."""


@contextmanager
def chromium(program: Path = SHELL) -> Iterator[Any]:
    """Debian's Chromium, driven by a playwright of its own."""
    with sync_playwright() as playwright, launched(playwright, program) as browser:
        yield browser


@contextmanager
def launched(playwright: Any, program: Path = SHELL, *, has_page_cache: bool = False) -> Iterator[Any]:
    """Debian's Chromium; playwright turns the back/forward cache off unless it is wanted."""
    needs("" if program.exists() else f"there is no browser at {program}")
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server"]
    ignored = ["--disable-back-forward-cache"] if has_page_cache else []
    browser = playwright.chromium.launch(executable_path=str(program), args=arguments, ignore_default_args=ignored)
    yield browser
    browser.close()
