# SPDX-License-Identifier: Apache-2.0
"""Names of which no two are the same: what tells things apart is appended where they would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Wish(NamedTuple):
    """The name that a thing should have, and what is appended when another one wants it too."""

    name: str
    apart: str


class DistinctNames:
    """Gives out names. A name that two things wanted once is given to none of them alone, also when one has gone:
    so nothing is renamed back and forth.
    """

    def __init__(self) -> None:
        self._contested: set[str] = set()

    def give(self, wishes: Mapping[Key, Wish]) -> dict[Key, str]:
        """The name of each; the same for the same wishes, in whatever order they come."""
        wanted = Counter(wish.name for wish in wishes.values())
        contested = {name for name, count in wanted.items() if count > 1 or not name}
        self._contested = contested | (self._contested & wanted.keys())
        while True:
            names = {key: self._name(wish) for key, wish in wishes.items()}
            taken = Counter(names.values())
            # What was appended to one name may make it the wish of another.
            hit = {wish.name for key, wish in wishes.items() if taken[names[key]] > 1} - self._contested
            if not hit:
                return _numbered(names, taken)
            self._contested |= hit

    def _name(self, wish: Wish) -> str:
        if wish.name not in self._contested:
            return wish.name
        return f"{wish.name}_{wish.apart}" if wish.name else wish.apart


def _numbered(names: dict[Key, str], taken: Counter[str]) -> dict[Key, str]:
    """The last resort, for names that are the same although something else was appended to each."""
    if len(taken) == len(names):
        return names
    used = set(taken)
    result = dict(names)
    seen: set[str] = set()
    for key in sorted((key for key in names if taken[names[key]] > 1), key=repr):
        name, number = names[key], 1
        while name in seen or (number > 1 and name in used):
            number += 1
            name = f"{names[key]}_{number}"
        seen.add(name)
        result[key] = name
    return result
