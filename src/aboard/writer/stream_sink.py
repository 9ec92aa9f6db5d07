# SPDX-License-Identifier: Apache-2.0
"""A sink that hands records to a file object of a registered factory, from a thread of its own."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from numpy.typing import NDArray

from aboard._native import frame_record
from aboard.events.event import FILE_VERSION, SESSION_LOG, SESSION_START, SUMMARY, event
from aboard.events.histogram import histogram
from aboard.events.scalar import scalar
from aboard.writer.factories import RecordFile, factory_for
from aboard.writer.lifecycle import renew_in_child
from aboard.writer.sink import NOT_TAKEN

_file_numbers = count()


class StreamSink:
    """Keeps records in memory up to a bound, and writes them within `flush_seconds`."""

    def __init__(
        self,
        directory: str,
        host: str,
        suffix: str = "",
        purge_step: int | None = None,
        flush_seconds: float = 0.5,
        wake_entries: int = 0,
        memory_limit: int = 64 << 20,
    ) -> None:
        self._factory = factory_for(directory)
        self._factory.directory_check(directory)
        self._directory, self._host, self._suffix = directory, host, suffix
        self._purge_step = purge_step
        self._flush_seconds, self._wake_entries, self._memory_limit = (
            flush_seconds,
            wake_entries,
            memory_limit,
        )
        self._reports: list[tuple[bool, str]] = []
        self._lost = 0
        self._reset()
        self._file = self._open()
        renew_in_child(self)

    def _reset(self) -> None:
        self._records: list[bytes] = []
        self._bytes = 0
        self._queue_lock = threading.Lock()
        self._io_lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing = False
        self._file: RecordFile | None = None

    def become_child(self) -> None:
        """Forget what belongs to the parent; the next entry opens a file of this process."""
        self._reset()
        self._purge_step = None

    def try_scalar(self, tag: object, value: object, step: object, wall_time: object, /) -> int:
        return NOT_TAKEN

    def add_scalar(self, tag: str, value: float, step: int, wall_time: float, /) -> bool:
        return self.add_summary(scalar(tag, value), step, wall_time)

    def add_summary(self, summary: bytes, step: int, wall_time: float, /) -> bool:
        return self.add_event(event(SUMMARY, summary, wall_time=wall_time, step=step))

    def add_histogram(self, tag: str, values: NDArray[Any], step: int, wall_time: float, /) -> bool:
        return self.add_summary(histogram(tag, values, "tensorflow"), step, wall_time)

    def add_event(self, event: bytes, /) -> bool:
        record = frame_record(event)
        if self._bytes + len(record) > self._memory_limit and not self._failing:
            self._drain()
        with self._queue_lock:
            if self._failing and self._bytes + len(record) > self._memory_limit:
                self._refuse()
                return True
            self._records.append(record)
            self._bytes += len(record)
            if len(self._records) == self._wake_entries:
                self._wake.set()
            self._ensure_thread()
        return bool(self._reports)

    def _refuse(self) -> None:
        self._lost += 1
        if self._lost == 1:
            self.add_report(True, f"{self._directory} cannot be written and memory is full: new entries are dropped")

    def add_report(self, failure: bool, text: str, /) -> None:
        self._reports.append((failure, text))

    def take_report(self) -> tuple[bool, str] | None:
        return self._reports.pop(0) if self._reports else None

    def flush(self) -> bool:
        self._drain()
        return bool(self._reports)

    def close(self) -> bool:
        self._drain()
        with self._io_lock:
            if self._file is not None and not self._failing:
                self._attempt(self._file.close)
                self._file = None
        return bool(self._reports)

    @property
    def paths(self) -> list[bytes]:
        return []  # nothing that this process could read back

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=_write_until_gone, args=(weakref.ref(self),), daemon=True)
            self._thread.start()

    def wait_for_work(self) -> None:
        self._wake.wait(self._flush_seconds)
        self._wake.clear()

    def _drain(self) -> None:
        with self._io_lock:
            with self._queue_lock:
                records, self._records = self._records, []
            if not records:
                return
            data = b"".join(records)
            if self._attempt(lambda: self._write(data)):
                with self._queue_lock:
                    self._bytes -= len(data)
            else:
                with self._queue_lock:
                    self._records[:0] = [data]

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        self._file.write(data)
        self._file.flush()

    def _attempt(self, action: Callable[[], object]) -> bool:
        try:
            action()
        except Exception as error:  # a person's factory may raise anything; training goes on
            if not self._failing:
                self._failing = True
                self.add_report(True, f"cannot write to {self._directory}: {error!r}. Entries are kept and tried again")
            return False
        if self._failing:
            self._failing = False
            lost, self._lost = self._lost, 0
            self.add_report(lost > 0, f"{self._directory} can be written again; {lost} entries were lost meanwhile")
        return True

    def _open(self) -> RecordFile:
        name = f"events.out.tfevents.{int(time.time()):010d}.{self._host}.{os.getpid()}.{next(_file_numbers)}"
        file = self._factory.open(f"{self._directory.rstrip('/')}/{name}{self._suffix}")
        now = time.time()
        file.write(frame_record(event(FILE_VERSION, b"brain.Event:2", wall_time=now)))
        if self._purge_step is not None:
            file.write(frame_record(event(SESSION_LOG, SESSION_START, wall_time=now, step=self._purge_step)))
            self._purge_step = None
        return file


def _write_until_gone(reference: weakref.ref[StreamSink]) -> None:
    while (sink := reference()) is not None:
        sink.wait_for_work()
        sink.flush()
        del sink
        time.sleep(0)
