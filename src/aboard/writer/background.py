# SPDX-License-Identifier: Apache-2.0
"""The thread that does costly encoding (PNG, GIF, embedding files) in place of the calling thread.

Its work spends its time in code that releases the GIL. Jobs run in order; what waits is bounded by bytes, and a caller
above the bound waits. In the child of a fork the parent's jobs are forgotten.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from aboard.writer.lifecycle import close_at_exit, renew_in_child

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
