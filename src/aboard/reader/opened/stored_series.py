# SPDX-License-Identifier: Apache-2.0
"""The values of one tag that holds no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from aboard.reader.opened.stored_values import StoredValue
from aboard.reader.run_reader import Entry, Tag

Value = TypeVar("Value", bound=StoredValue)


class StoredSeries(Sequence[Value], Generic[Value]):
    """The values of one tag at the time of the look-up; each is read from its file on first use.

    As on a board: ascending steps, the newest value of each. `all` also has the others.
    """

    def __init__(self, run: str, tag: Tag, kind: type[Value], entries: list[Entry] | None = None) -> None:
        self.run = run
        self.tag = tag.name
        self.plugin = tag.meaning.plugin
        self.description = tag.meaning.description
        self._tag, self._kind = tag, kind
        self._entries = tag.entries() if entries is None else entries

    @property
    def plugin_content(self) -> bytes:
        """What the writer told the plugin about this tag: a message that the plugin understands."""
        return self._tag.meaning.content

    @property
    def steps(self) -> NDArray[np.int64]:
        """The steps of all values."""
        return np.array([entry.step for entry in self._entries], np.int64)

    @property
    def wall_times(self) -> NDArray[np.float64]:
        """When they were logged, in seconds since 1970."""
        return np.array([entry.wall_time for entry in self._entries], np.float64)

    @property
    def all(self) -> StoredSeries[Value]:
        """Every value of the current history in logging order, several of one step included."""
        entries = [Entry(*place) for place in self._tag.run.logdir.media(self._tag.number)]
        return StoredSeries(self.run, self._tag, self._kind, entries)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, position: int) -> Value: ...
    @overload
    def __getitem__(self, position: slice) -> StoredSeries[Value]: ...
    def __getitem__(self, position: int | slice) -> Value | StoredSeries[Value]:
        if isinstance(position, slice):
            return StoredSeries(self.run, self._tag, self._kind, self._entries[position])
        return self._kind(self._tag, self._entries[position])

    def __repr__(self) -> str:
        return f"<{self.tag!r} of {self.run!r}: {len(self)} x {self._kind.__name__}>"
