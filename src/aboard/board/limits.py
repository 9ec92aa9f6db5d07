# SPDX-License-Identifier: Apache-2.0
"""How much of a series a board sends, and which entries stand for those that are left out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from aboard.reader.run import DataClass

Item = TypeVar("Item")

ALL = sys.maxsize


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is sent of one series.

    Stock TensorBoard samples 1,000 points of a curve. As many are sent here, chosen so that every minimum and maximum
    is among them; more would only make the first charts appear later.
    """

    scalars: int = 1_000
    tensors: int = 200
    blobs: int = 500
    of_plugin: Mapping[str, int] = field(default_factory=dict[str, int])
    """What somebody asked for by the name of a plugin's data; 0 stands for all. It overrules everything else."""

    def budget(self, plugin: str, data_class: DataClass, wanted: int | None) -> int:
        """How many entries to send of a series of which TensorBoard's plugin wants `wanted`.

        The plugins name what they would be content with, which is far less than what a browser can show: they get at
        least the limit. One is different: it means the newest, and the plugins take the first of what they get.
        """
        if wanted is not None and wanted <= 1:
            return max(wanted, 0)
        asked_for = self.of_plugin.get(plugin)
        if asked_for is not None:
            return asked_for or ALL
        return max(self._usual(data_class), wanted or 0)

    def _usual(self, data_class: DataClass) -> int:
        match data_class:
            case DataClass.SCALAR:
                return self.scalars
            case DataClass.BLOB_SEQUENCE:
                return self.blobs
            case _:
                return self.tensors


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items at even distances, the last always among them: the same ones at every request."""
    if len(items) <= count:
        return list(items)
    if count <= 1:
        return list(items[-1:]) if count else []
    return [items[index * (len(items) - 1) // (count - 1)] for index in range(count)]
