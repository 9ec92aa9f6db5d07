# SPDX-License-Identifier: Apache-2.0
"""Where the files of a run are on this machine and where they go, kept so that anybody can finish shipping them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from aboard.errors import InvalidValue, StoreError
from aboard.model.ids import is_uid
from aboard.run.spool import DESTINATION, LOGS, OUTPUT, read_json, write_json
from aboard.store import Store, open_store
from aboard.store.uri import parse_uri
from aboard.upload.scan import Spool, WatchedFolder


@dataclass(frozen=True, kw_only=True)
class Destination:
    """One run on its way from a folder of this machine into stores."""

    folder: Path
    """Its spool."""
    uid: str
    store: str
    mirrors: tuple[str, ...] = ()
    output: Path
    watched: tuple[Path, ...] = ()
    """Folders elsewhere that belong to the run alone."""
    shared: tuple[Path, ...] = ()
    """Folders elsewhere in which other runs write too."""

    def spool(self, accept: Callable[[Path], bool]) -> Spool:
        """The folders for an uploader; `accept` decides about files in shared ones."""
        own = [WatchedFolder(f"watch{place}", path) for place, path in enumerate(self.watched, 1)]
        shared = [WatchedFolder(f"shared{place}", path, accept) for place, path in enumerate(self.shared, 1)]
        return Spool(self.folder, self.uid, self.output, self.folder / LOGS, (*own, *shared))

    def stores(self) -> list[tuple[str, Store]]:
        """Names of journals, and stores; the first is the one that counts. Folders are made where that is possible."""
        mirrors = [(f"journal-mirror{place}", _opened(uri)) for place, uri in enumerate(self.mirrors, 1)]
        return [("journal", _opened(self.store)), *mirrors]

    def write(self) -> None:
        """Keep this in the spool."""
        document = {
            "format": "aboard-destination",
            "version": [1, 0],
            "uid": self.uid,
            "store": self.store,
            "mirrors": list(self.mirrors),
            "output": str(self.output),
            "watched": [str(path) for path in self.watched],
            "shared": [str(path) for path in self.shared],
        }
        write_json(self.folder / DESTINATION, document)

    def watching(self, folder: Path) -> Destination:
        """The same with one more folder."""
        return replace(self, watched=(*self.watched, folder))

    def sharing(self, folder: Path) -> Destination:
        """The same with one more folder in which other runs may write."""
        return replace(self, shared=(*self.shared, folder))


def read_destination(folder: Path) -> Destination:
    """What `write` has kept; raises InvalidValue where there is nothing of the kind."""
    document = read_json(folder / DESTINATION)
    uid, store = document.get("uid"), document.get("store")
    if not isinstance(uid, str) or not is_uid(uid) or not isinstance(store, str):
        raise InvalidValue(
            f"{folder} is not the folder of a run that aboard has begun.",
            hint="Name one below $ABOARD_HOME/spool; `aboard sync FOLDER STORE` takes over a folder of event files.",
        )
    return Destination(
        folder=folder,
        uid=uid,
        store=store,
        mirrors=tuple(_texts(document.get("mirrors"))),
        output=Path(str(document.get("output") or folder / OUTPUT)),
        watched=tuple(map(Path, _texts(document.get("watched")))),
        shared=tuple(map(Path, _texts(document.get("shared")))),
    )


def check_destinations(store: str, mirrors: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The stores as full addresses, none of them twice; raises InvalidValue for what is no store."""
    addresses = [parse_uri(uri).uri for uri in (store, *mirrors)]
    for place, address in enumerate(addresses):
        if address in addresses[:place]:
            raise InvalidValue(f"{address} is named twice.", hint="A mirror is another place than the store.")
    return addresses[0], tuple(addresses[1:])


def check_folders(home: Path, output: Path | None, watched: Sequence[Path], stores: Sequence[str]) -> None:
    """Refuse folders within each other: what is shipped must not hold the store, nor anything twice."""
    kept = [("the store", path) for uri in stores if (path := parse_uri(uri).path) is not None]
    kept.append(("$ABOARD_HOME", home))
    shipped = [("--watch", path) for path in watched] + ([("--output", output)] if output else [])
    for option, folder in shipped:
        for what, place in kept:
            if place.is_relative_to(folder):
                raise InvalidValue(
                    f"{option} {folder} holds {what}, {place}, which would be shipped into itself.",
                    hint="Name a folder of the run alone.",
                )
        for other, another in shipped:
            if (other, another) != (option, folder) and another.is_relative_to(folder):
                raise InvalidValue(
                    f"{other} {another} lies in {option} {folder}.", hint="Name the outer one; all below it is taken."
                )


def _opened(uri: str) -> Store:
    try:
        return open_store(uri, create=True)
    except StoreError:
        return open_store(uri)  # the disk may come later; until then every use says what is wrong


def _texts(value: object) -> list[str]:
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list) else []
