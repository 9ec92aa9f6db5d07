# SPDX-License-Identifier: Apache-2.0
"""Files below URIs, opened by factories that a person registers for a scheme as in tensorboardX; and `RecordWriter`."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Protocol, Self

from aboard._native import frame_record
from aboard.errors import InvalidValue


class RecordFile(Protocol):
    """What a factory opens. It is given each byte once and in order, by one thread at a time."""

    def write(self, data: bytes, /) -> object: ...
    def flush(self) -> object: ...
    def close(self) -> object: ...


class WriterFactory(Protocol):
    """Opens files below the URIs of one scheme."""

    def open(self, path: str, /) -> RecordFile: ...
    def directory_check(self, path: str, /) -> object: ...


class RemoteFolder(Protocol):
    """A log folder that is kept elsewhere: whatever is written below `local` is on its way there."""

    @property
    def local(self) -> Path: ...
    @property
    def mark(self) -> str:
        """Goes into the names of event files, so that those of different machines differ."""
        ...

    def settle(self, timeout: float) -> str:
        """Return when all files are there, or after `timeout` seconds; what is left then, in words."""
        ...


_factories: dict[str, WriterFactory] = {}
# By its name: shipping is a layer above writing, and is loaded where somebody asks for it.
_SHIPPED_BY = "aboard.run.training.remote_logs"


def register_writer_factory(prefix: str, factory: WriterFactory) -> None:
    """Have log folders that begin with `prefix:` written through `factory`."""
    if not isinstance(prefix, str) or ":" in prefix:
        raise InvalidValue(f"prefix must be a scheme without a colon, such as 's3', got {prefix!r}")
    _factories[prefix] = factory


def scheme_of(path: str) -> str:
    """`s3` of `s3://bucket/runs`; empty for a plain folder."""
    scheme, separator, _ = path.partition("://")
    if separator:
        return scheme
    prefix = path.partition(":")[0]
    return prefix if prefix in _factories else ""


def remote_folder(path: str) -> RemoteFolder | None:
    """The folder behind the URI of a store; None for a plain folder and where a factory was registered."""
    scheme = scheme_of(path)
    if not scheme or scheme in _factories:
        return None
    folder: RemoteFolder = importlib.import_module(_SHIPPED_BY).remote_folder(path)
    return folder


def factory_for(path: str) -> WriterFactory:
    """The factory that was registered for the scheme of `path`."""
    scheme = scheme_of(path)
    if scheme not in _factories:
        raise InvalidValue(
            f"logdir {path!r} is a URI, and no writer is registered for {scheme!r}"
            f" (registered: {', '.join(sorted(_factories)) or 'none'})",
            hint="give a local path, or call register_writer_factory first",
        )
    return _factories[scheme]


class RecordWriter:
    """Writes each record with its length and both checksums. Not safe to use from several threads."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file: RecordFile | None = _open(self.path)

    def write(self, data: bytes) -> None:
        if self._file is None:
            raise ValueError(f"the record writer of {self.path} is closed")
        self._file.write(frame_record(bytes(memoryview(data))))  # bytes() alone makes zeros of an integer

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: str) -> RecordFile:
    if scheme_of(path):
        return factory_for(path).open(path)
    return Path(path).open("wb")
