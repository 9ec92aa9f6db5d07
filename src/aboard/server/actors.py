# SPDX-License-Identifier: Apache-2.0
"""Who asks: what the guard before the application has found out, as handlers get it."""

from __future__ import annotations

import getpass
from typing import Annotated

from fastapi import Depends, Request

from aboard.errors import Unauthorized
from aboard.model.access import Access
from aboard.server.short_answers import ACCESS


async def asking(request: Request) -> Access:
    """Without a guard that tells people apart, all who get here are the one person that the application was told."""
    access = request.scope.get(ACCESS)
    if isinstance(access, Access):
        return access
    actor = getattr(request.app.state, "actor", None)
    if actor is None:
        raise Unauthorized("a token is needed")
    return Access.whole(str(actor))


Asking = Annotated[Access, Depends(asking)]
"""As the type of a parameter of a handler: who asks, and what they may do where."""


async def check_change(access: Asking) -> None:
    """A dependency of all routes that change something: tokens that may only read are refused."""
    access.check_change()


def owner() -> str:
    """The person whose process this is."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
