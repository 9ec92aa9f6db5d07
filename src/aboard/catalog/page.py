# SPDX-License-Identifier: Apache-2.0
"""One page of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from aboard.errors import InvalidValue

_T = TypeVar("_T")
LONGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """Some entries, and what to ask for to get those after them; None at the end."""

    items: Sequence[_T]
    next: str | None


def check_limit(limit: int) -> int:
    """`limit` itself, if a page can be so long."""
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidValue(f"a page cannot have {limit} entries", hint=f"ask for 1 to {LONGEST_PAGE}")
    return limit
