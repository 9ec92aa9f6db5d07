# SPDX-License-Identifier: Apache-2.0
"""`aboard.open`: the runs below folders and URIs, with their hyperparameters and their tags by kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, overload

from aboard._native import FileStatus
from aboard.errors import InvalidType, InvalidValue, StorageUnavailable, UnknownName
from aboard.foundation.text import nearest_hint
from aboard.reader.collection import RunCollection
from aboard.reader.hparams import HParam, HParamsOfRuns, own_hparams
from aboard.reader.index import IndexCache
from aboard.reader.opened.series import ScalarSeries, StoredSeries, Value
from aboard.reader.opened.tables import AsTable, Rows, rows_of
from aboard.reader.opened.values import Audio, Graph, Histogram, Image, Tensor, Text
from aboard.reader.progress import ReadingProgress
from aboard.reader.roots import Root, find_roots, named_path
from aboard.reader.run import RunReader, Tag
from aboard.reader.tags import DataClass

if TYPE_CHECKING:
    from aboard.client.notebook_views import RunsFrame


@dataclass(frozen=True, slots=True)
class ReadFile:
    """How far reading a file came, and what in it is damaged."""

    name: str
    bytes_read: int
    size: int
    records: int
    bad_records: int  # skipped: they do not match their checksum, or are no event
    skipped_bytes: int  # between damaged places and the next valid record
    first_damage: int | None  # the byte where it is
    error: str  # why the file cannot be read; empty when it can
    first_wall_time: float
    last_wall_time: float
    attempt: int  # which start of the training process wrote it, from 0 on

    @classmethod
    def of(cls, status: FileStatus) -> ReadFile:
        """From what the native reader knows of a file."""
        return cls(
            name=os.fsdecode(status.name),
            bytes_read=status.bytes_read,
            size=status.size,
            records=status.records,
            bad_records=status.bad_records,
            skipped_bytes=status.skipped_bytes,
            first_damage=status.first_damage if status.bad_records or status.skipped_bytes else None,
            error=os.strerror(status.error) if status.error else "",
            first_wall_time=status.first_wall_time,
            last_wall_time=status.last_wall_time,
            attempt=status.attempt,
        )

    @property
    def is_damaged(self) -> bool:
        """Whether anything that was read was damaged, or nothing could be read. A cut tail may still be completed."""
        return bool(self.bad_records or self.skipped_bytes or self.error)


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


_GRAPHS = (
    "graphs", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model", "graph_tagged_run_metadata",
)  # fmt: skip
_HAVE_ROOMS = frozenset({"images", "audio", "histograms", "text", "hparams", *_GRAPHS})


class OpenedRun(AsTable):
    """One run: a folder with event files. What it has grows with `refresh()` of what it was opened with."""

    def __init__(self, reader: RunReader, hparams: Callable[[str], Mapping[str, HParam]]) -> None:
        self._reader, self._hparams = reader, hparams

    @property
    def name(self) -> str:
        """What TensorBoard calls it: the path below the folder that was opened, `.` for this folder itself."""
        return self._reader.name

    @property
    def folder(self) -> Path:
        """The folder with its event files."""
        return self._reader.folder

    @property
    def hparams(self) -> dict[str, HParam]:
        """Hyperparameters as plain values; numbers are floats, because event files know no others.

        A run without any has those of the nearest folder above, or of the only run directly below.
        """
        return dict(self._hparams(self.name))

    @property
    def scalars(self) -> TagMap[ScalarSeries]:
        """Curves by tag."""
        return TagMap(self.name, "scalar", self._scalar_tags(), ScalarSeries.of)

    @property
    def images(self) -> TagMap[StoredSeries[Image]]:
        """Pictures by tag."""
        return self._stored("image", self._reader.by_plugin("images"), Image)

    @property
    def audio(self) -> TagMap[StoredSeries[Audio]]:
        """Sounds by tag."""
        return self._stored("audio", self._reader.by_plugin("audio"), Audio)

    @property
    def histograms(self) -> TagMap[StoredSeries[Histogram]]:
        """Histograms by tag."""
        return self._stored("histogram", self._reader.by_plugin("histograms"), Histogram)

    @property
    def text(self) -> TagMap[StoredSeries[Text]]:
        """Texts by tag."""
        return self._stored("text", self._reader.by_plugin("text"), Text)

    @property
    def graphs(self) -> TagMap[StoredSeries[Graph]]:
        """Graphs and what was measured while they ran, by tag."""
        return self._stored("graph", _merged(self._reader.by_plugin(plugin) for plugin in _GRAPHS), Graph)

    @property
    def tensors(self) -> TagMap[StoredSeries[Tensor]]:
        """Everything else by tag: precision-recall curves, meshes, layouts, arrays of other plugins."""
        return self._stored("tensor", self._other_tags(scalar=False), Tensor)

    @property
    def files(self) -> list[ReadFile]:
        """Its event files in the order of their history, and what reading them met."""
        return [ReadFile.of(row) for row in self._reader.logdir.files()]

    @property
    def bad_records(self) -> int:
        """Damaged records that were skipped, in all files."""
        return sum(file.bad_records for file in self.files)

    def is_of(self, reader: RunReader) -> bool:
        """Whether this shows what `reader` reads."""
        return self._reader is reader

    def __repr__(self) -> str:
        scalars, hparams = len(self._scalar_tags()), len(self._hparams(self.name))
        return f"<run {self.name!r}: {scalars} scalar tags, {hparams} hparams>"

    def rows(self, *, superseded: bool = False) -> Iterator[Rows]:
        """Every point of every curve as rows of the long table."""
        return rows_of(self.name, self._scalar_tags().values(), superseded=superseded)

    def _stored(self, kind: str, tags: Mapping[str, Tag], value: type[Value]) -> TagMap[StoredSeries[Value]]:
        return TagMap(self.name, kind, tags, lambda run, tag: StoredSeries(run, tag, value))

    def _scalar_tags(self) -> Mapping[str, Tag]:
        return _merged([self._reader.by_plugin("scalars"), self._other_tags(scalar=True)])

    def _other_tags(self, *, scalar: bool) -> Mapping[str, Tag]:
        """Tags of plugins that have no room of their own here."""
        return _merged(
            {
                name: tag
                for name, tag in self._reader.by_plugin(plugin).items()
                if (tag.meaning.data_class == DataClass.SCALAR) == scalar
            }
            for plugin in sorted(self._reader.plugins() - _HAVE_ROOMS - {"scalars"})
        )


def _merged(parts: Iterable[Mapping[str, Tag]]) -> Mapping[str, Tag]:
    """One mapping of all; mostly one part has everything, and there may be a million tags in it."""
    filled = [part for part in parts if part]
    if len(filled) == 1:
        return filled[0]
    merged: dict[str, Tag] = {}
    for part in filled:
        for name, tag in part.items():
            merged.setdefault(name, tag)
    return merged


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
    def progress(self) -> ReadingProgress:
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

    def show(self, *, height: int = 600, metrics: str | Sequence[str] = ()) -> RunsFrame:
        """Show aboard's page over these folders as the value of a notebook's cell. The page is read-only.

        Args:
            height: of the frame, in pixels.
            metrics: draw only these, as in `["loss", "val/*"]`; without any, all.
        """
        from aboard.client.notebook_views import RunsFrame

        return RunsFrame([_argument(name, root) for name, root in self._roots.items()], height=height, metrics=metrics)

    def rows(self, *, superseded: bool = False) -> Iterator[Rows]:
        """Every point of every curve of every run as rows of the long table."""
        for run in self.runs:
            yield from run.rows(superseded=superseded)


def _argument(name: str, root: Root) -> str:
    """The root as an argument of `aboard view`. Names with slashes are made there as they were made here."""
    place = str(root) if isinstance(root, Path) else root.given or root.uri
    return f"{name}={place}" if name and "/" not in name else place


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
