# SPDX-License-Identifier: Apache-2.0
"""Selections as a person types them here, made to mean the same to a server elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from aboard.errors import InvalidValue
from aboard.model.selection_words import is_folder


def several(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (names,) if isinstance(names, str) else tuple(names)


def zone_minutes() -> int:
    """Minutes east of Greenwich: times that a person writes into a filter are those of their own clock."""
    return -time.localtime().tm_gmtoff // -60


def whole_path(word: str) -> str:
    """A folder of this machine as the server can know it, which works in another one."""
    if not is_folder(word) or "://" in word:
        return word
    try:
        return str(Path(word).expanduser().absolute())
    except RuntimeError:
        raise InvalidValue(f"{word!r} begins with the home of a user who is not known here") from None
