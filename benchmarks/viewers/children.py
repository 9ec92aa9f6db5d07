# SPDX-License-Identifier: Apache-2.0
"""Measured processes: what they print and when, their memory and CPU with all their descendants, and their end.

Each is the leader of a session of its own. When its block is left, in whatever way, it is ended with everything that
it started.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS = os.sysconf("SC_CLK_TCK")
_QUIET_FOR, _QUIET_SHARE = 1.0, 0.2
_BENCHMARKS = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Memory:
    """MiB of a process with its descendants."""

    rss: float
    pss: float  # pages that several processes share count in parts
    peak: float  # the largest RSS of each process, added


class Child:
    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=_BENCHMARKS,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._lines: queue.SimpleQueue[tuple[float, str] | None] = queue.SimpleQueue()
        self._said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in {self.pid, *self.processes()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._listener.join()

    def wait_for(self, pattern: str, *, timeout: float = 120) -> tuple[re.Match[str], float]:
        """The first line from here on that matches, and when it was printed."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                item = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise SystemExit(self._complaint(f"did not print {pattern!r} within {timeout:g} s")) from None
            if item is None:
                raise SystemExit(self._complaint(f"ended before it printed {pattern!r}"))
            when, line = item
            if match := re.search(pattern, line):
                return match, when

    def wait(self) -> None:
        """Let the process end by itself."""
        if self._process.wait(timeout=60) != 0:
            raise SystemExit(self._complaint(f"ended with code {self._process.returncode}"))

    def interrupt(self) -> None:
        """End the process as Ctrl-C does, and wait for it."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=60)

    def must_live(self) -> None:
        if self._process.poll() is not None:
            raise SystemExit(self._complaint("ended"))

    def processes(self) -> list[int]:
        """The process and all its descendants, also those whose parent is gone."""
        return [pid for pid, fields in _all_processes() if int(fields[3]) == self.pid]

    def memory(self) -> Memory:
        rollups = [_fields(pid, "smaps_rollup") for pid in self.processes()]
        peaks = [_fields(pid, "status").get("VmHWM", 0) for pid in self.processes()]
        rss, pss = (sum(rollup.get(key, 0) for rollup in rollups) / 1024 for key in ("Rss", "Pss"))
        return Memory(rss, pss, sum(peaks) / 1024)

    def cpu_seconds(self) -> float:
        """User and system time so far, of all processes that are still there."""
        return sum(
            (int(fields[11]) + int(fields[12])) / _TICKS for _, fields in _all_processes() if int(fields[3]) == self.pid
        )

    def settle(self, *, least: float = 2.0, most: float = 60.0) -> None:
        """Wait until what goes on in the background is done."""
        end = time.monotonic() + most
        time.sleep(least)
        before = self.cpu_seconds()
        while time.monotonic() < end:
            time.sleep(_QUIET_FOR)
            now = self.cpu_seconds()
            if now - before < _QUIET_SHARE * _QUIET_FOR:
                return
            before = now

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            text = line.decode(errors="replace").rstrip()
            self._said.append(text)
            self._lines.put((time.monotonic(), text))
        self._lines.put(None)

    def _complaint(self, what: str) -> str:
        said = "\n".join(self._said[-20:])
        return f"{self._process.args!r} {what}; it said:\n{said}"


def _all_processes() -> list[tuple[int, list[str]]]:
    """(id, fields of /proc/…/stat behind the name) of each process: state, parent, group, session, …"""
    found: list[tuple[int, list[str]]] = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                content = (place / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # has ended
            found.append((int(place.name), content.rpartition(")")[2].split()))
    return found


def _fields(pid: int, file: str) -> dict[str, int]:
    """The numbers in a file of /proc that has `name:  number kB` in its lines."""
    try:
        content = Path("/proc", str(pid), file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+) kB$", content, re.MULTILINE)}
