# SPDX-License-Identifier: Apache-2.0
"""What a command prints, kept in a file of limited size: its beginning, and when there is too much, its end."""

from __future__ import annotations

import logging
import threading
from collections import deque
from pathlib import Path

from aboard.run.secrets import MaskedStream, Secrets

_log = logging.getLogger("aboard.run")
HEAD_BYTES = 32 << 20
TAIL_BYTES = 1 << 20


class OutputLog:
    """One file for both streams. Bytes are kept as they are, but for secrets.

    A disk that fails loses output, and nothing else: the log says how much, and goes on when it can.
    """

    def __init__(
        self, path: Path, secrets: Secrets, *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES
    ) -> None:
        self._lock = threading.Lock()
        self._masks = {name: MaskedStream(secrets) for name in ("stdout", "stderr")}
        self._head_left = head_bytes
        self._tail_bytes = tail_bytes
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0
        self._lost = 0
        """Bytes that could not be written since the last that could."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def write(self, stream: str, data: bytes) -> None:
        """Keep what was printed to `stdout` or `stderr`."""
        with self._lock:
            self._keep(self._masks[stream].feed(data))

    def close(self) -> None:
        """Write what waits, and the end of what was too much."""
        with self._lock:
            for mask in self._masks.values():
                self._keep(mask.end())
            if self._tail_size:
                tail = b"".join(self._tail)[-self._tail_bytes :]
                skipped = self._left_out + self._tail_size - len(tail)
                if skipped:
                    self._append(f"\n[aboard: {skipped} bytes were left out here]\n".encode())
                self._append(tail)
                self._tail.clear()
                self._tail_size = 0
            self._file.close()

    def _keep(self, data: bytes) -> None:
        now, later = data[: self._head_left], data[self._head_left :]
        self._head_left -= len(now)
        self._append(now)
        if not later:
            return
        self._tail.append(later)
        self._tail_size += len(later)
        while self._tail_size - len(self._tail[0]) >= self._tail_bytes:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self._left_out += gone

    def _append(self, data: bytes) -> None:
        if data and self._lost:
            notice = f"\n[aboard: {self._lost} bytes could not be written here]\n".encode()
            if self._written(notice) < len(notice):
                self._lost += len(data)
                return
            self._lost = 0
        self._lost += len(data) - self._written(data)

    def _written(self, data: bytes) -> int:
        """Write, and tell how much of it could be written."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            if not self._lost:
                _log.warning("The output of the command is not kept for now: %s.", error.strerror)
        return len(data) - len(rest)
