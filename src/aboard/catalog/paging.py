# SPDX-License-Identifier: Apache-2.0
"""Pages of lists, and cursors: the next page begins after the last item, whatever was added or removed meanwhile."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from aboard.errors import InvalidValue

_T = TypeVar("_T")
LONGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[_T]):
    """Some entries, and the cursor of the page after them; None at the end."""

    items: Sequence[_T]
    next: str | None


def check_limit(limit: int) -> int:
    """`limit` itself, if a page can be so long."""
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidValue(f"a page cannot have {limit} entries", hint=f"ask for 1 to {LONGEST_PAGE}")
    return limit


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last run of a page: its part of the order, its value there, and its number."""

    phase: int
    value: float | str | None
    number: int

    def text(self, order: str) -> str:
        """The mark as an opaque word, good for this order only."""
        content = json.dumps([order, self.phase, self.value, self.number])
        return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, order: str) -> Cursor:
        """The mark that a word stands for."""
        try:
            content = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            made_for, phase, value, number = content
            is_whole = isinstance(phase, int) and phase >= 0 and isinstance(number, int) and abs(number) < 2**63
            is_value = (
                value is None or isinstance(value, (float, str)) or (isinstance(value, int) and abs(value) < 2**63)
            )
            if made_for != order or not is_whole or not is_value:
                raise ValueError
        except (ValueError, TypeError):
            hint = "give back what `next` of the page before said, with the same order"
            raise InvalidValue(f"{text!r} is not where a page of this list ended", hint=hint) from None
        return cls(phase, value, number)
