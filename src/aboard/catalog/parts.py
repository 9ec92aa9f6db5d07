# SPDX-License-Identifier: Apache-2.0
"""Long lists in parts that fit into one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")
_LONGEST = 500


def parts_of(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """`items`, a few hundred at a time: databases limit how many values a query has."""
    return (items[start : start + _LONGEST] for start in range(0, len(items), _LONGEST))
