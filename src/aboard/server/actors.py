# SPDX-License-Identifier: Apache-2.0
"""Who asks: the place where logins will tell people apart; so far all who know the token are one."""

from __future__ import annotations

import getpass
from typing import Annotated

from fastapi import Depends, Request

from aboard.model.access import Access


async def asking(request: Request) -> Access:
    """Who sent a request."""
    return Access.whole(str(getattr(request.app.state, "actor", "")))


Asking = Annotated[Access, Depends(asking)]
"""As the type of a parameter of a handler: who asks, and what they may do where."""


def owner() -> str:
    """The person whose process this is."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
