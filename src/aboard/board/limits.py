# SPDX-License-Identifier: Apache-2.0
"""How much of a series a board sends, and which entries stand for those that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is sent of one series; a request that names a larger number gets that."""

    scalars: int = 10_000
    tensors: int = 200
    blobs: int = 500


def budget(limit: int, wanted: int | None) -> int:
    """How many entries to send when TensorBoard's plugin wants `wanted` and the board allows `limit`.

    The plugins name what they would be content with, which is far less than what a browser can show. One is different:
    it means the newest, and the plugins take the first of what they get.
    """
    if wanted is None:
        return limit
    return max(wanted, 0) if wanted <= 1 else max(limit, wanted)


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items at even distances, the last always among them: the same ones at every request."""
    if len(items) <= count:
        return list(items)
    if count <= 1:
        return list(items[-1:]) if count else []
    return [items[index * (len(items) - 1) // (count - 1)] for index in range(count)]
