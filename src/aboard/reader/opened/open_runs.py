# SPDX-License-Identifier: Apache-2.0
"""`aboard.open`: the runs below folders, for people who read from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from aboard.errors import InvalidType, InvalidValue, StorageUnavailable
from aboard.reader.hparams import HParam, HParamsOfRuns, own_hparams
from aboard.reader.index_cache import IndexCache
from aboard.reader.opened.frames import AsTable
from aboard.reader.opened.long_table import Rows
from aboard.reader.opened.opened_run import OpenedRun
from aboard.reader.opened.run_list import RunList
from aboard.reader.root import Root
from aboard.reader.roots import find_roots, named_path
from aboard.reader.run_collection import Progress, RunCollection
from aboard.reader.run_reader import RunReader

Where: TypeAlias = str | os.PathLike[str]


def open(*paths: Where | Mapping[str, Where]) -> OpenedRuns:  # noqa: A001 - read as aboard.open
    """Read all runs below folders.

    A string may be a folder, a URI such as `s3://bucket/prefix`, `name=FOLDER`, a pattern or one event file, as for
    `aboard view`; a path object is taken as it stands; a dict gives folders names. Every point is decoded now;
    pictures, sounds and arrays are read when they are looked at. Nothing is written into the folders or stores.
    """
    opened = OpenedRuns(find_roots(_named(paths)))
    opened.refresh()
    return opened


class OpenedRuns(AsTable):
    """The runs below some folders, as they were at the last `refresh()`, before which there are none.

    No event file stays open; `close`, or leaving a `with`, gives the memory back.
    """

    def __init__(self, roots: Mapping[str, Root]) -> None:
        for root in roots.values():
            if isinstance(root, Path):
                _refuse_unreadable(root)
        # What is read later must not depend on the folder in which the process is then.
        self._roots = {name: root.absolute() if isinstance(root, Path) else root for name, root in roots.items()}
        self._collection: RunCollection | None = RunCollection(
            self._roots, cache=IndexCache.default(), notifications=False
        )
        self._hparams: HParamsOfRuns[HParam] | None = None
        self._runs = RunList({})

    @property
    def runs(self) -> RunList:
        """The runs, by name and by position."""
        self._opened()
        return self._runs

    def refresh(self) -> bool:
        """Find new runs and read new points; whether there was anything new. Series must be looked up again."""
        collection = self._opened()
        changed = collection.refresh()
        collection.keep()
        collection.give_back()
        self._hparams = None
        self._runs = RunList({name: self._run(name, reader) for name, reader in collection.runs.items()})
        return changed

    @property
    def progress(self) -> Progress:
        """How far the first reading has come; for another thread than that which waits for it."""
        return self._opened().progress

    def close(self) -> None:
        """Give the memory back. Series that were looked up before stay usable."""
        if self._collection is not None:
            self._collection.close()
        self._collection, self._hparams, self._runs = None, None, RunList({})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        folders = ", ".join(f"{name}={path}" if name else str(path) for name, path in self._roots.items())
        return f"<{folders}: {'closed' if self._collection is None else f'{len(self._runs)} runs'}>"

    def _opened(self) -> RunCollection:
        if self._collection is None:
            raise InvalidValue(f"{self!r} can no longer be read", hint="open it again")
        return self._collection

    def _run(self, name: str, reader: RunReader) -> OpenedRun:
        """The same object as before, unless another folder has this name now."""
        known: OpenedRun | None = self._runs.get(name)
        return known if known is not None and known.is_of(reader) else OpenedRun(reader, self._hparams_of)

    def _hparams_of(self, run: str) -> Mapping[str, HParam]:
        if self._hparams is None:
            self._hparams = HParamsOfRuns({name: own_hparams(reader) for name, reader in self._opened().runs.items()})
        return self._hparams.of(run)

    def rows(self, *, superseded: bool = False) -> Iterator[Rows]:
        """Every point of every curve of every run as rows of the long table."""
        for run in self.runs:
            yield from run.rows(superseded=superseded)


def _named(paths: Iterable[Where | Mapping[str, Where]]) -> Iterator[tuple[str, str | Path]]:
    for path in paths:
        if isinstance(path, str):
            yield named_path(path)
        elif isinstance(path, Mapping):
            yield from ((_checked_name(name), _plain(where)) for name, where in path.items())
        else:
            yield "", _plain(path)


def _plain(where: Any) -> str | Path:
    if isinstance(where, str):
        return where
    if hasattr(where, "__fspath__") and isinstance(os.fspath(where), str):
        return Path(where)
    raise InvalidType(
        f"cannot open {where!r:.100} of type {type(where).__name__}",
        hint="give strings, path objects, or a dict of names and either",
    )


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidType(f"a folder is named {name!r}; allowed is a text that is not empty")
    return name


def _refuse_unreadable(root: Path) -> None:
    try:
        if root.is_dir():
            os.scandir(root).close()
            root.joinpath("..").stat()  # which needs the permission to go into it, as reading does
        else:
            os.close(os.open(root, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        raise StorageUnavailable(
            f"{root} cannot be read: {error.strerror}", hint="ask its owner for permission to read it"
        ) from error
