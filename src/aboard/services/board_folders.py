# SPDX-License-Identifier: Apache-2.0
"""The plain folders and URIs that a board shows, under the names that TensorBoard would give to what is in them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from aboard.errors import AboardError
from aboard.model.name_template import Value
from aboard.reader.root import Root
from aboard.reader.run_reader import RunReader
from aboard.services.open_folders import OpenFolder, OpenFolders


class BoardFolders:
    """Runs of some folders, a source of runs for a board. A single folder adds nothing to the names of its runs."""

    def __init__(self, folders: OpenFolders, uris: Sequence[str]) -> None:
        self._folders, self._uris = folders, uris
        self._lock = threading.Lock()
        self._taken: dict[str, OpenFolder] = {}
        self._seen: list[Mapping[str, RunReader]] = []
        self._runs: Mapping[str, RunReader] = MappingProxyType({})
        self._refused: dict[str, str] = {}
        self._names = short_names(uris)
        self._is_closed = False
        self.open()

    def open(self) -> None:
        """Open what is not open yet: a folder may have come back."""
        with self._lock:
            for uri in self._uris:
                if uri in self._taken or self._is_closed:
                    continue
                try:
                    self._taken[uri] = self._folders.take(uri)
                    self._refused.pop(uri, None)
                except AboardError as error:
                    self._refused[uri] = error.message

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """What was read so far; the same mapping as before when there is no other run."""
        with self._lock:
            inside = [folder.runs.runs for folder in self._taken.values()]
            if len(inside) != len(self._seen) or any(
                one is not other for one, other in zip(inside, self._seen, strict=True)
            ):
                found = {
                    self._joined(uri, name): run
                    for uri, runs in zip(self._taken, inside, strict=True)
                    for name, run in runs.items()
                }
                self._seen, self._runs = inside, MappingProxyType(found)
            return self._runs

    @property
    def roots(self) -> Mapping[str, Root]:
        """The folders by the names that stand before those of their runs."""
        with self._lock:
            return {self._names[uri]: folder.root for uri, folder in self._taken.items()}

    def columns_of(self, name: str) -> Mapping[str, Value] | None:
        """What a store says of one of its runs; None for those of plain folders."""
        with self._lock:
            for uri, folder in self._taken.items():
                prefix = self._names[uri]
                if not prefix or name == prefix or name.startswith(f"{prefix}/"):
                    below = name.removeprefix(prefix).removeprefix("/") if prefix else name
                    return folder.runs.columns_of(below or ".")
        return None

    @property
    def problems(self) -> list[str]:
        """What cannot be read now, in words."""
        with self._lock:
            of_stores = [problem for folder in self._taken.values() for problem in folder.runs.store_problems]
            return [*self._refused.values(), *of_stores]

    def close(self) -> None:
        """Give all folders back."""
        with self._lock:
            self._is_closed = True
            taken, self._taken = list(self._taken.values()), {}
        for folder in taken:
            self._folders.give_back(folder)

    def _joined(self, uri: str, name: str) -> str:
        prefix = self._names[uri]
        return name if not prefix else (prefix if name == "." else f"{prefix}/{name}")


def short_names(uris: Sequence[str]) -> dict[str, str]:
    """As much of the end of each path as tells it from the others; nothing for a single one."""
    if len(uris) == 1:
        return {uris[0]: ""}
    names: dict[str, str] = {}
    for uri in uris:
        parts = uri.strip("/").split("/")
        ends = ("/".join(parts[-length:]) for length in range(1, len(parts) + 1))
        others = [other.strip("/") for other in uris if other != uri]
        names[uri] = next(
            (end for end in ends if not any(f"/{other}".endswith(f"/{end}") for other in others)), uri.strip("/")
        )
    return names
