# SPDX-License-Identifier: Apache-2.0
"""The order of runs: root by root, each folder before those below it, whatever was found first."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple


class Place(NamedTuple):
    """Where a run stands. Places compare as the paths of folders do, part by part."""

    root: int
    parts: str
    name: str

    @classmethod
    def of(cls, root: int, name: str) -> Place:
        """The place of a run below the root of this number."""
        return cls(root, "" if name == "." else name.replace("/", "\0"), name)


def reordered(places: list[Place], gone: AbstractSet[Place], new: AbstractSet[Place]) -> list[Place]:
    """The places without some and with others, in order; quick, as nearly all of them are."""
    kept = [place for place in places if place not in gone] if gone else list(places)
    kept += sorted(new)
    kept.sort()
    return kept
