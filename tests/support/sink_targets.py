# SPDX-License-Identifier: Apache-2.0
"""Kinds of sinks for their contract: where their files end up, and ways to make that place fail."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import IO, Any, Protocol

import aboard._native
from aboard import SummaryWriter, register_writer_factory
from aboard._native import EventLog
from aboard.writer.sink import Sink
from aboard.writer.stream_sink import StreamSink

SMALL_MEMORY = 200_000


class Target(Protocol):
    """A kind of sink, the folder where its files end up, and a way to make that folder fail."""

    folder: Path

    def sink(self, **options: Any) -> Sink: ...
    def writer(self, **options: object) -> SummaryWriter: ...
    def small_memory(self) -> Sink: ...
    def fail(self) -> None: ...
    def heal(self) -> None: ...


class NativeTarget:
    """An EventLog; it fails when its folder is gone and cannot come back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "native"
        self._kept = folder / "kept"

    def sink(self, **options: Any) -> Sink:
        return EventLog(os.fsencode(self.folder), "host", **options)

    def writer(self, **options: object) -> SummaryWriter:
        return SummaryWriter(self.folder, **options)

    def small_memory(self) -> Sink:
        aboard._native.set_memory_limit(SMALL_MEMORY)
        return self.sink()

    def fail(self) -> None:
        # A file removed, and a file where the folder should be: even root cannot write then.
        self._kept.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            shutil.copy(path, self._kept)
        shutil.rmtree(self.folder)
        self.folder.write_text("not a folder")

    def heal(self) -> None:
        self.folder.unlink()
        shutil.copytree(self._kept, self.folder, dirs_exist_ok=True)  # the log may have made it again


class FolderFactory:
    """Writes `memo:/some/folder/name` into /some/folder, through a buffer, as an ordinary factory would."""

    def __init__(self) -> None:
        self.failing = False
        self.half_written = False

    def open(self, path: str) -> FolderFile:
        return FolderFile(self, Path(path.removeprefix("memo:")))

    def directory_check(self, path: str) -> None:
        Path(path.removeprefix("memo:")).mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        if self.failing:
            raise OSError("the target is away")


class FolderFile:
    def __init__(self, factory: FolderFactory, path: Path) -> None:
        factory.check()
        self._factory = factory
        self._file: IO[bytes] = path.open("wb")

    def write(self, data: bytes) -> None:
        if self._factory.half_written:
            self._factory.half_written, self._factory.failing = False, True
            self._file.write(data[: len(data) - 5])
        self._factory.check()
        self._file.write(data)

    def flush(self) -> None:
        self._factory.check()
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class StreamTarget:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "stream"
        self.factory = FolderFactory()
        register_writer_factory("memo", self.factory)

    def sink(self, **options: Any) -> Sink:
        return StreamSink(f"memo:{self.folder}", "host", **options)

    def writer(self, **options: object) -> SummaryWriter:
        return SummaryWriter(f"memo:{self.folder}", **options)

    def small_memory(self) -> Sink:
        return self.sink(memory_limit=SMALL_MEMORY)

    def fail(self) -> None:
        self.factory.failing = True

    def heal(self) -> None:
        self.factory.failing = False
