# SPDX-License-Identifier: Apache-2.0
"""Who asks: the place where logins will tell people apart; so far all who know the token are one."""

from __future__ import annotations

import getpass

from starlette.requests import Request


def actor_of(request: Request) -> str:
    """The name under which a change is recorded."""
    return str(getattr(request.app.state, "actor", ""))


def owner() -> str:
    """The person whose process this is."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
