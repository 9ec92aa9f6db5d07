# SPDX-License-Identifier: Apache-2.0
"""Runs of several sources on one board; of two that have one name, the later one gets a number."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from aboard.board.selected_tags import RunSource
from aboard.reader.run import RunReader


class JoinedRuns:
    """The runs of some sources, the first source first. Safe to use from any thread."""

    def __init__(self, sources: Sequence[RunSource]) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._seen: list[Mapping[str, RunReader]] = []
        self._runs: Mapping[str, RunReader] = {}

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs by their names now; earlier names that a source understands are understood here too."""
        parts = [source.runs for source in self._sources]
        with self._lock:
            if len(parts) != len(self._seen) or any(
                one is not other for one, other in zip(parts, self._seen, strict=True)
            ):
                self._seen, self._runs = parts, _Joined(parts)
            return self._runs


class _Joined(Mapping[str, RunReader]):
    def __init__(self, parts: Sequence[Mapping[str, RunReader]]) -> None:
        self._parts = parts
        self._now: dict[str, RunReader] = {}
        for part in parts:
            for name, run in part.items():
                self._now[self._free(name)] = run

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self._now:
            number += 1
            free = f"{name}_{number}"
        return free

    def __getitem__(self, name: str) -> RunReader:
        run = self._now.get(name)
        if run is not None:
            return run
        for part in self._parts:
            if name in part:
                return part[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)
