# SPDX-License-Identifier: Apache-2.0
"""Runs by name and by position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, overload

from aboard.errors import UnknownName
from aboard.reader.nearest_names import nearest_hint
from aboard.reader.opened.opened_run import OpenedRun

_SHOWN = 10


class RunList:
    """The runs that were there when it was asked for: folders in the order in which they were named, then by path.

    Iterating yields runs. Looking up takes a name or a position; `keys`, `values`, `items`, `get` are those of a dict.
    """

    def __init__(self, runs: Mapping[str, OpenedRun]) -> None:
        self._runs = runs
        self._list = list(runs.values())

    @overload
    def __getitem__(self, which: str | int) -> OpenedRun: ...
    @overload
    def __getitem__(self, which: slice) -> list[OpenedRun]: ...
    def __getitem__(self, which: str | int | slice) -> OpenedRun | list[OpenedRun]:
        if isinstance(which, slice):
            return self._list[which]
        if not isinstance(which, str):
            return self._list[which]
        found = self._runs.get(which)
        if found is None:
            raise UnknownName(f"there is no run {which!r}", hint=nearest_hint(which, self._runs.keys(), "runs"))
        return found

    def __contains__(self, which: object) -> bool:
        return which in self._runs if isinstance(which, str) else which in self._list

    def __iter__(self) -> Iterator[OpenedRun]:
        return iter(self._list)

    def __reversed__(self) -> Iterator[OpenedRun]:
        return reversed(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def keys(self) -> list[str]:
        """The names of the runs."""
        return list(self._runs)

    def values(self) -> list[OpenedRun]:
        """The runs."""
        return list(self._list)

    def items(self) -> list[tuple[str, OpenedRun]]:
        """Names and runs."""
        return list(self._runs.items())

    def get(self, name: str, default: Any = None) -> Any:
        """The run of this name, or the default."""
        return self._runs.get(name, default)

    def __repr__(self) -> str:
        more = f", and {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"<{len(self)} runs: {', '.join(map(repr, list(self._runs)[:_SHOWN])) or 'none'}{more}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._runs)
