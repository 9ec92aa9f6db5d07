# SPDX-License-Identifier: Apache-2.0
"""Plain folders and URIs of event files, which no catalog knows: which are allowed, and how boards show them.

Each folder is open once, for all boards that show it. Runs get the names that TensorBoard would give them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from aboard.errors import AboardError, Forbidden, InvalidValue, StorageUnavailable, StoreError
from aboard.model.names import folded
from aboard.model.people import Access
from aboard.model.templates import TemplateValue
from aboard.reader.collection import Follower, RunCollection
from aboard.reader.index import IndexCache
from aboard.reader.mirror.discovery import StoreScope
from aboard.reader.roots import Root, StoreUri
from aboard.reader.run import RunReader
from aboard.services.read_only_source import Source
from aboard.store.connection import Patience
from aboard.store.uri import is_below, parse_uri, real_location

_LOCAL_SECONDS, _STORE_SECONDS = 1.0, 5.0
_FIRST_LOOK = Patience(connect_seconds=3, stall_seconds=5, request_seconds=10, retries=1, retry_seconds=5)


class AllowedFolder(NamedTuple):
    """A folder or URI that may be shown, and the folder below which no link is followed; None: links are followed."""

    root: Root
    within: Path | None


@dataclass(slots=True)
class OpenFolder:
    """A folder or URI that is read and followed."""

    uri: str
    root: Root
    runs: RunCollection
    follower: Follower
    holders: int = 0


class OpenFolders:
    """Opens what is below the allowed roots; without roots, as for the one person whose server it is, anything."""

    def __init__(self, roots: Sequence[str] | None, sources: Sequence[Source] = ()) -> None:
        self._sources = sources
        self._roots = None if roots is None else [parse_uri(root).uri for root in roots]
        self._lock = threading.Lock()
        self._open: dict[str, OpenFolder] = {}

    def check(self, uri: str) -> AllowedFolder:
        """What a URI names, if it may be shown and is there."""
        address = parse_uri(uri)
        if address.path is None:
            if self._roots is not None and not any(is_below(address.uri, root) for root in self._roots):
                raise self._outside(address.uri)
            return AllowedFolder(StoreUri(address.uri, uri), None)
        # A link must not lead out of what was allowed, so paths are compared as they really are.
        real = os.path.realpath(address.path)
        allowed = (
            None if self._roots is None else [root for root in map(real_location, self._roots) if is_below(real, root)]
        )
        if allowed == []:
            raise self._outside(address.uri)
        try:
            os.scandir(real).close()
        except FileNotFoundError:
            hint = "write the whole path of a folder on the machine of the server, or a URI"
            raise InvalidValue(f"there is no folder {address.uri}", hint=hint) from None
        except NotADirectoryError:
            raise InvalidValue(f"{address.uri} is not a folder", hint="name the folder that it is in") from None
        except OSError as error:
            raise StorageUnavailable(f"{address.uri} cannot be read: {error.strerror}") from error
        return AllowedFolder(Path(real), Path(allowed[0]) if allowed else None)

    def workspaces_of(self, uris: Iterable[str]) -> frozenset[str]:
        """The folded names of the workspaces whose sources are in one of these folders and URIs, or hold one.

        Whoever may not see such a workspace must not see its runs in a folder either.
        """
        return frozenset(folded(one.workspace) for uri in uris for one in self._sources if one.overlaps(uri))

    def check_seen(self, uri: str, access: Access) -> None:
        """Refuse a folder with runs of a workspace that this person may not see, as one that nobody may open."""
        if not all(access.sees(workspace) for workspace in self.workspaces_of([uri])):
            raise self._outside(uri)

    def reach(self, uri: str) -> None:
        """Look once at what a URI names, so that a store that refuses is said now and not on an empty page.

        A store that does not answer may do so later: it passes.
        """
        root, _ = self.check(uri)
        if isinstance(root, StoreUri):
            try:
                StoreScope(root, _FIRST_LOOK).check()
            except StoreError as error:
                if not error.temporary:
                    raise

    def take(self, uri: str) -> OpenFolder:
        """A folder that is followed until `give_back`; does not wait for what is in it."""
        root, within = self.check(uri)
        with self._lock:
            found = self._open.get(uri)
            if found is None:
                runs = RunCollection({"": root}, cache=IndexCache.default(), within=within)
                follower = Follower(runs, _LOCAL_SECONDS if isinstance(root, Path) else _STORE_SECONDS)
                found = self._open[uri] = OpenFolder(uri, root, runs, follower)
                follower.start()
            found.holders += 1
            return found

    def give_back(self, folder: OpenFolder) -> None:
        """Show a folder no more."""
        with self._lock:
            folder.holders -= 1
            if folder.holders or self._open.get(folder.uri) is not folder:
                return
            del self._open[folder.uri]
        _stop(folder)

    def close(self) -> None:
        """Follow nothing any more."""
        with self._lock:
            left, self._open = list(self._open.values()), {}
        for folder in left:
            _stop(folder)

    def _outside(self, uri: str) -> Forbidden:
        allowed = ", ".join(self._roots or ()) or "none: only runs of the catalog are shown"
        return Forbidden(f"this server does not show {uri}", hint=f"folders and buckets that it may show: {allowed}")


def _stop(folder: OpenFolder) -> None:
    # A store that does not answer is not waited for.
    threading.Thread(target=folder.follower.stop, name="aboard-folder-end", daemon=True).start()


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

    def columns_of(self, name: str) -> Mapping[str, TemplateValue] | None:
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
