# SPDX-License-Identifier: Apache-2.0
"""The tags of one kind in one run, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from aboard.errors import UnknownName
from aboard.reader.nearest_names import nearest_hint
from aboard.reader.run_reader import Tag

Series = TypeVar("Series")
_SHOWN = 10


class TagMap(Mapping[str, Series], Generic[Series]):
    """A mapping from tags to series, in the order in which the tags were first logged. Series are made on look-up."""

    def __init__(self, run: str, kind: str, tags: Mapping[str, Tag], make: Callable[[str, Tag], Series]) -> None:
        self._run, self._kind, self._tags, self._make = run, kind, tags, make

    def __getitem__(self, tag: str) -> Series:
        found = self._tags.get(tag)
        if found is None:
            hint = nearest_hint(str(tag), self._tags.keys(), f"{self._kind} tags")
            raise UnknownName(f"run {self._run!r} has no {self._kind} tag {tag!r}", hint=hint)
        return self._make(self._run, found)

    # Those of Mapping would build the error of a name that is not there, only to drop it.
    def __contains__(self, tag: object) -> bool:
        return tag in self._tags

    def get(self, tag: str, default: Any = None) -> Any:
        """The series of a tag, or the default."""
        return self[tag] if tag in self._tags else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._tags)

    def __len__(self) -> int:
        return len(self._tags)

    def __repr__(self) -> str:
        names = list(self._tags)
        more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"<{self._kind} tags of {self._run!r}: {', '.join(map(repr, names[:_SHOWN])) or 'none'}{more}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._tags)
