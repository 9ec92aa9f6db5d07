# SPDX-License-Identifier: Apache-2.0
"""The browser of a person, opened where there is one."""

from __future__ import annotations

import sys
import webbrowser

from aboard.cli.saying import say


def open_page(address: str) -> None:
    """Show an address; where no browser can be opened the person is told, who has the address already."""
    try:
        is_open = webbrowser.open(address)
    except (OSError, webbrowser.Error):
        is_open = False
    if not is_open:
        say("No browser can be opened here; open the address yourself.", sys.stderr)
