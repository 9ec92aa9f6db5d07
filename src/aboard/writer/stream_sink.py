# SPDX-License-Identifier: Apache-2.0
"""A sink that hands records to a file object of a registered factory, from a thread of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
import weakref
from collections import deque
from itertools import count
from typing import Any

from numpy.typing import NDArray

from aboard._native import frame_record
from aboard.events.event import FILE_VERSION, SESSION_LOG, SESSION_START, SUMMARY, event
from aboard.events.histogram import histogram
from aboard.events.tensor import scalar
from aboard.writer.factories import RecordFile, factory_for
from aboard.writer.lifecycle import close_at_exit, renew_in_child
from aboard.writer.sink import NOT_TAKEN

_BATCH_BYTES = 1 << 20
_file_numbers = count()


class StreamSink:
    """Keeps records in memory up to a bound, and writes them within `flush_seconds`.

    How much of a failed write reached a file cannot be known, so nothing more is written to it: the batch goes into
    the next file. That keeps every file sound; at worst the records of one batch are in two files.
    """

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
        self._reset()
        self._open()
        renew_in_child(self)
        close_at_exit(self)

    def _reset(self) -> None:
        # Their thread may take the locks again: a signal handler that closes the writer must not wait for itself.
        self._io_lock = threading.RLock()
        self._queue_lock = threading.RLock()
        self._records: deque[bytes] = deque()
        # Each is changed under one lock only, so that neither thread needs the other's.
        self._added_bytes = self._written_bytes = 0
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._reports: deque[tuple[bool, str]] = deque()
        self._failing = False
        self._lost = self._lost_and_said = 0
        self._file: RecordFile | None = None
        self._path = ""  # of the file, or of the next one when an earlier try left nothing there

    def become_child(self) -> None:
        """Forget what belongs to the parent; the next entry opens a file of this process."""
        if self._file is not None:
            # Finalized here, it would write what was in its buffer at the fork a second time.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._file))
        self._reset()
        self._purge_step = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # also a sink whose making failed
            self.close()
            if self._records:
                sys.stderr.write(f"aboard: {len(self._records)} entries for {self._directory} are lost\n")

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
        if self._held_bytes + len(record) > self._memory_limit and not self._failing:
            self._drain()
        with self._queue_lock:
            if self._failing and self._held_bytes + len(record) > self._memory_limit:
                self._refuse()
                return bool(self._reports)
            self._records.append(record)
            self._added_bytes += len(record)
            if len(self._records) == self._wake_entries:
                self._wake.set()
            has_thread = self._ensure_thread()
        if not has_thread:
            self._drain()
        return bool(self._reports)

    @property
    def _held_bytes(self) -> int:
        return self._added_bytes - self._written_bytes

    def _refuse(self) -> None:
        self._lost += 1
        if self._lost - self._lost_and_said == 1:
            self.add_report(True, f"{self._directory} cannot be written and memory is full: new entries are dropped")

    def add_report(self, failure: bool, text: str, /) -> None:
        self._reports.append((failure, text))

    def take_report(self) -> tuple[bool, str] | None:
        try:
            return self._reports.popleft()
        except IndexError:
            return None

    def flush(self) -> bool:
        self._drain()
        return bool(self._reports)

    def close(self) -> bool:
        self._drain()
        with self._io_lock:
            if self._file is not None:
                file, self._file, self._path = self._file, None, ""
                self._purge_step = None
                try:
                    file.close()
                except Exception as error:
                    self.add_report(
                        True,
                        f"a file in {self._directory} could not be closed: {error!r}. Its last entries may be missing",
                    )
        return bool(self._reports)

    @property
    def paths(self) -> list[bytes]:
        return []  # nothing that this process could read back

    def _ensure_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=_write_until_gone, args=(weakref.ref(self),), daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is ending, or there are no more threads
                return False
            self._thread = thread
        return True

    def wait_for_work(self) -> None:
        self._wake.wait(self._flush_seconds)
        self._wake.clear()

    def _drain(self) -> None:
        with self._io_lock:
            waiting = len(self._records)  # what comes meanwhile is not waited for
            while waiting > 0:
                batch = self._take_batch(waiting)
                waiting -= len(batch)
                if not batch or not self._try_to_write(batch):
                    return

    def _take_batch(self, most: int) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        # Without the queue's lock: a signal handler that closes may have interrupted its holder, and waits for this.
        while self._records and len(batch) < most and size < _BATCH_BYTES:
            batch.append(self._records.popleft())
            size += len(batch[-1])
        return batch

    def _try_to_write(self, batch: list[bytes]) -> bool:
        data = b"".join(batch)
        written = False
        try:
            self._write(data)
            written = True
        except Exception as error:  # a person's factory may raise anything; training goes on
            self._failed(error)
        finally:
            if written:
                self._written_bytes += len(data)
            else:
                self._records.extendleft(reversed(batch))
        if written and self._failing:
            self._recovered()
        return written

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        try:
            self._file.write(data)
            self._file.flush()
        except BaseException:
            self._leave_file()
            raise
        self._path = ""
        self._purge_step = None

    def _open(self) -> None:
        path, self._path = self._path or self._new_path(), ""
        file = self._file = self._factory.open(path)
        # Until something is written, another try may replace the file: failing targets are not littered with them.
        self._path = path
        now = time.time()
        try:
            file.write(frame_record(event(FILE_VERSION, b"brain.Event:2", wall_time=now)))
            if self._purge_step is not None:
                file.write(frame_record(event(SESSION_LOG, SESSION_START, wall_time=now, step=self._purge_step)))
            file.flush()
        except BaseException:
            self._leave_file()
            raise

    def _new_path(self) -> str:
        name = f"events.out.tfevents.{int(time.time()):010d}.{self._host}.{os.getpid()}.{next(_file_numbers)}"
        return f"{self._directory.rstrip('/')}/{name}{self._suffix}"

    def _leave_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(Exception):
                file.close()

    def _failed(self, error: Exception) -> None:
        if not self._failing:
            self._failing = True
            self.add_report(True, f"cannot write to {self._directory}: {error!r}. Entries are kept and tried again")

    def _recovered(self) -> None:
        self._failing = False
        lost = self._lost - self._lost_and_said
        self._lost_and_said += lost
        if lost > 0:
            self.add_report(True, f"{self._directory} can be written again; {lost} entries were dropped meanwhile")
        else:
            self.add_report(False, f"{self._directory} can be written again; nothing was lost")


def _write_until_gone(reference: weakref.ref[StreamSink]) -> None:
    while (sink := reference()) is not None:
        sink.wait_for_work()
        sink.flush()
        del sink
        time.sleep(0)
