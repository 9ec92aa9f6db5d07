# SPDX-License-Identifier: Apache-2.0
"""`FileWriter`: the low-level writer of one log folder, and the thread that encodes for it.

The thread does costly encoding (PNG, GIF, embedding files) in place of the calling thread, in code that releases the
GIL. Jobs run in order; the bytes that wait are limited, and a caller above the limit waits. In the child of a fork the
parent's jobs are forgotten.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from aboard import events
from aboard._native import EventLog
from aboard.errors import InvalidType, InvalidValue, StorageUnavailable, WriteWarning
from aboard.writer.arguments import path_text, step_number, wall_time
from aboard.writer.factories import RemoteFolder, remote_folder, scheme_of
from aboard.writer.lifecycle import close_at_exit, renew_in_child
from aboard.writer.sink import NullSink, Sink

Job = Callable[[], None]
_MOST_WAITING_BYTES = 256 << 20


class BackgroundThread:
    """Runs jobs one after another; `wait` returns when all jobs submitted before are done."""

    def __init__(self) -> None:
        self.become_child()

    def become_child(self) -> None:
        """Start anew, without what was submitted: the child of a fork has no copy of the thread."""
        self._changed = threading.Condition()
        self._jobs: deque[tuple[Job, int]] = deque()
        self._waiting_bytes = 0
        self._submitted = 0
        self._done = 0
        self._thread: threading.Thread | None = None

    def submit(self, job: Job, size: int) -> None:
        """Have `job`, which holds about `size` bytes and raises nothing, run soon."""
        with self._changed:
            if not self._ensure_thread():
                job()
                return
            while self._jobs and self._waiting_bytes + size > _MOST_WAITING_BYTES:
                self._changed.wait()
            self._jobs.append((job, size))
            self._waiting_bytes += size
            self._submitted += 1
            self._changed.notify_all()

    def wait(self) -> None:
        """Return when every job submitted so far has run."""
        if self._done == self._submitted or threading.current_thread() is self._thread:
            return
        with self._changed:
            last = self._submitted
            while self._done < last:
                self._changed.wait()

    close = wait  # at exit, where it comes before the writers: a job may outlive the writer that submitted it

    def _ensure_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="aboard-encoder", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is ending, or there are no more threads
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._jobs:
                    self._changed.wait()
                job, size = self._jobs.popleft()
            try:
                job()
            finally:
                del job  # with the arrays and the file that it holds
                with self._changed:
                    self._waiting_bytes -= size
                    self._done += 1
                    self._changed.notify_all()


encoder = BackgroundThread()
renew_in_child(encoder)
close_at_exit(encoder)


_log = logging.getLogger("aboard.writer")
FLUSH_TIMEOUT = 60.0
_LONGEST_DELAY = 0.5  # seconds until the background thread writes; leaves room to stay below one second


class FileWriter:
    """Appends events to a new event file in `logdir`.

    `max_queue` entries, or `flush_secs` seconds (half a second at the most), wake the thread that writes.
    Without `max_queue` the amount of data decides. `write_to_disk=False` checks arguments and keeps nothing.
    Files of a URI grow on this machine and are shipped by another process; `close` waits for that, `flush_timeout`
    seconds at the most.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        max_queue: int | None = None,
        flush_secs: float | None = None,
        filename_suffix: str = "",
        *,
        purge_step: int | None = None,
        write_to_disk: bool = True,
        flush_timeout: float = FLUSH_TIMEOUT,
    ) -> None:
        self._logdir = path_text(logdir, "logdir")
        self._flush_timeout = checked_timeout(flush_timeout)
        self._remote: RemoteFolder | None = None
        self.sink: Sink = NullSink()
        if write_to_disk:
            delay, wake_entries = _delay(flush_secs), _queue_length(max_queue)  # before anything is begun elsewhere
            if not _fits_a_path(self._logdir) or not _fits_a_file_name(filename_suffix):
                given = f"{self._logdir!r} and {filename_suffix!r}"
                raise InvalidValue(f"logdir and filename_suffix must be valid in a path, got {given}")
            self._remote = remote_folder(self._logdir)
            folder = str(self._remote.local) if self._remote else self._logdir
            suffix = f"{self._remote.mark}{filename_suffix}" if self._remote else filename_suffix
            self.sink = _open_sink(folder, delay, wake_entries, suffix, purge_step)
        self._default_step: int | None = None
        self._default_wall_time: float | None = None
        close_at_exit(self)

    def get_logdir(self) -> str:
        """The folder in which the event file is."""
        return self._logdir

    @property
    def local_folder(self) -> Path | None:
        """Where files are written on this machine; None where a registered factory writes them."""
        if self._remote is not None:
            return self._remote.local
        return None if scheme_of(self._logdir) else Path(self._logdir)

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        """Add an `Event`: serialized bytes as they are, or a protobuf object, which gets the step and wall time."""
        if isinstance(event, bytes):
            self.deliver(self.sink.add_event(event))
            return
        if not hasattr(event, "SerializeToString"):
            raise InvalidType(f"event must be serialized bytes or a protobuf message, got {event!r:.100}")
        event.wall_time = wall_time(walltime, self._default_wall_time)
        step = self._default_step if step is None else step
        if step is not None:
            event.step = step_number(step)
        self.deliver(self.sink.add_event(_serialized(event, "event")))

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Add a `Summary`, serialized or as a protobuf object."""
        step = step_number(global_step, self._default_step)
        self.deliver(
            self.sink.add_summary(_serialized(summary, "summary"), step, wall_time(walltime, self._default_wall_time))
        )

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: Any = None) -> None:
        """Add a `GraphDef` and its `RunMetadata`, serialized or as protobuf objects."""
        if not isinstance(graph_profile, (tuple, list)) or len(graph_profile) != 2:
            raise InvalidType(f"graph_profile must be a GraphDef and its RunMetadata, got {graph_profile!r:.100}")
        definition, metadata = (_serialized(part, "graph_profile") for part in graph_profile)
        seconds = wall_time(walltime, self._default_wall_time)
        for event in events.graph.graph_events(definition, metadata, seconds):
            self.add_event(event)

    def add_onnx_graph(self, graph: Any, walltime: Any = None) -> None:
        """Add a `GraphDef` made from an ONNX model, serialized or as a protobuf object."""
        seconds = wall_time(walltime, self._default_wall_time)
        for event in events.graph.graph_events(_serialized(graph, "graph"), None, seconds):
            self.add_event(event)

    add_openvino_graph = add_onnx_graph

    def flush(self) -> None:
        """Return when everything added before is in the file (or, if that fails now, say so)."""
        encoder.wait()
        self.deliver(self.sink.flush())

    def close(self) -> None:
        """Flush and close the file. Closing again does nothing; adding something opens a new file."""
        self.close_file()
        self.settle()

    def close_file(self) -> None:
        """Close the file as it is on this machine."""
        encoder.wait()
        self.deliver(self.sink.close())

    def settle(self) -> None:
        """Wait, for a limited time, until what was closed is where the URI says; say what is left."""
        if self._remote is not None and (left := self._remote.settle(self._flush_timeout)):
            self.sink.add_report(True, left)
            self.deliver(report_waits=True)

    def reopen(self) -> None:
        """Have later events go into a new file of the same folder. Nothing to do: adding after `close` does that."""

    def add_later(self, encode: Callable[[], bytes], size: int, step: int, seconds: float) -> None:
        """Add a summary that a background thread encodes; `size` is about what the job holds in memory."""
        sink = self.sink

        def job() -> None:
            try:
                sink.add_summary(encode(), step, seconds)
            except Exception as error:
                sink.add_report(True, f"a summary of step {step} could not be encoded and is lost: {error!r}")

        encoder.submit(job, size)

    @contextlib.contextmanager
    def use_metadata(self, *, global_step: Any = None, walltime: Any = None) -> Generator[FileWriter]:
        """Use these for every event inside the block that has none of its own."""
        before = self._default_step, self._default_wall_time
        self._default_step = before[0] if global_step is None else step_number(global_step)
        self._default_wall_time = before[1] if walltime is None else wall_time(walltime)
        try:
            yield self
        finally:
            self._default_step, self._default_wall_time = before

    def deliver(self, report_waits: object) -> None:
        """Tell the person what the writing thread had to say since the last call."""
        if not report_waits:
            return
        while (report := self.sink.take_report()) is not None:
            failure, text = report
            if failure:
                _warn(text)
            else:
                _log.warning(text)


def _warn(text: str) -> None:
    """Warn where the person's own code made the call, and each time: Python shows a repeated text only once."""
    frame = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("aboard."):
        frame = frame.f_back
    module = str(frame.f_globals.get("__name__", "<unknown>"))
    warnings.warn_explicit(text, WriteWarning, frame.f_code.co_filename, frame.f_lineno, module)


def _open_sink(logdir: str, delay: float, wake_entries: int, suffix: str, purge_step: int | None) -> Sink:
    host = os.uname().nodename
    if scheme_of(logdir):
        from aboard.writer.stream_sink import StreamSink

        return StreamSink(logdir, host, suffix, purge_step, delay, wake_entries)
    try:
        return EventLog(os.fsencode(logdir), host, suffix, purge_step, delay, wake_entries)
    except OSError as error:
        raise StorageUnavailable(
            f"cannot create an event file in {logdir!r}: {error.strerror or error} ({error.filename})",
            hint="check that the path is a folder, that its parent can be written and that the disk has room",
        ) from error


def _fits_a_path(logdir: str) -> bool:
    try:
        return b"\0" not in os.fsencode(logdir)
    except UnicodeEncodeError:
        return False


def _fits_a_file_name(suffix: object) -> bool:
    return isinstance(suffix, str) and not re.search("[/\0\ud800-\udfff]", suffix)


def checked_timeout(flush_timeout: Any) -> float:
    """How long closing waits for a store."""
    if isinstance(flush_timeout, bool) or not isinstance(flush_timeout, (int, float)) or not flush_timeout >= 0:
        raise InvalidValue(f"flush_timeout must be a number of seconds, 0 or more, got {flush_timeout!r}")
    return float(flush_timeout)


def _delay(flush_secs: Any) -> float:
    if flush_secs is None:
        return _LONGEST_DELAY
    if not isinstance(flush_secs, (int, float)) or not flush_secs >= 0:
        raise InvalidValue(f"flush_secs must be a number of seconds, 0 or more, got {flush_secs!r}")
    return float(min(flush_secs, _LONGEST_DELAY))


def _queue_length(max_queue: Any) -> int:
    if max_queue is None:
        return 0
    if not isinstance(max_queue, int) or max_queue < 0:
        raise InvalidValue(f"max_queue must be a number of entries, 0 or more, got {max_queue!r}")
    return min(max_queue, sys.maxsize)


def _serialized(message: Any, argument: str) -> bytes:
    if isinstance(message, bytes):
        return message
    if hasattr(message, "SerializeToString"):
        return message.SerializeToString()
    raise InvalidType(f"{argument} must be serialized bytes or a protobuf message, got {message!r:.100}")
