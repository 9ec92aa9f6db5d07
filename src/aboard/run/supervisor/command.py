# SPDX-License-Identifier: Apache-2.0
"""The command of a run: its process tree, the signals passed to it, and its output.

The command runs in a session of its own and is asked to end when its supervisor is killed: its output would go nowhere,
and the run may start elsewhere. Output is passed on, and kept in a file of limited size.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from aboard.errors import InvalidValue
from aboard.run.secrets import MaskedStream, Secrets

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> Callable[[], None] | None:
    """What a child does between fork and exec; nothing where the system cannot do it."""
    if sys.platform != "linux":
        return None
    try:
        # Found before the fork: afterwards only this one call is made, which takes no lock.
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    number = int(signal.SIGTERM)

    def ask_for_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

    return ask_for_signal


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


class ProcessTree:
    """All processes seen below a command. Safe on threads."""

    def __init__(self, pid: int) -> None:
        self._root = pid
        self._lock = threading.Lock()
        self._live: dict[int, psutil.Process] = {}
        self.seen: set[int] = {pid}
        """Process numbers, also of those that have ended."""
        self.look()

    def look(self) -> list[psutil.Process]:
        """The processes that live now. Those whose parents have ended are still known, if they were seen before."""
        with self._lock:
            found: dict[int, psutil.Process] = {}
            for start in (self._root, *self._live):
                self._add(found, start)
            self._live = found
            self.seen |= found.keys()
            return list(found.values())

    def _add(self, found: dict[int, psutil.Process], pid: int) -> None:
        if pid in found:
            return
        try:
            # The same object each time: it measures CPU use since it was last asked.
            known = self._live.get(pid)
            process = known if known is not None and known.is_running() else psutil.Process(pid)
            if known is not None and process is not known:
                return  # another process has got the number
            found[pid] = process
            for child in process.children(recursive=True):
                found.setdefault(child.pid, self._live.get(child.pid, child))
        except psutil.Error:
            found.pop(pid, None)


_PR_GET_CHILD_SUBREAPER = 37
_REAP_SECONDS = 1.0


class OrphanReaper:
    """Reaps processes whose parents have ended, where they become children of this one: as process 1 of a container.

    Children that this process has started itself are left to who waits for them. They are in its own session; a
    command and all that comes from it are in others.
    """

    def __init__(self) -> None:
        self._is_needed = os.getpid() == 1 or _is_subreaper()
        self._next = 0.0

    def reap(self, command: int) -> None:
        """Reap what has ended, but for the process of the command; at most once a second."""
        if not self._is_needed or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REAP_SECONDS
        for child in psutil.Process().children():
            if child.pid != command and _is_orphan(child):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)


def _is_orphan(child: psutil.Process) -> bool:
    try:
        return child.status() == psutil.STATUS_ZOMBIE and os.getsid(child.pid) != os.getsid(0)
    except (psutil.Error, ProcessLookupError):
        return False  # somebody has waited for it meanwhile


def _is_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    answer = ctypes.c_int(0)
    try:
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    except (OSError, AttributeError):
        return False
    return bool(answer.value)


_CHUNK = 64 << 10
_LATE_OUTPUT_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class Command:
    """A command that runs. The terminal's signals reach the supervisor alone, which passes them on.

    A signal that asks for the end starts a clock: what still runs after `grace` seconds is killed. Asking a second time
    with Ctrl-C kills at once.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        log: OutputLog,
        *,
        grace: float,
        started: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._log = log
        self._grace = grace
        self.asked_to_end: signal.Signals | None = None
        """The first signal that asked for the end."""
        self.asked_at = 0.0
        """When it came, by the clock that only goes forward."""
        self._kill_time: float | None = None
        self._earlier: dict[signal.Signals, Any] = {}
        self._early: list[signal.Signals] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._take_signals()
        try:
            self._process = self._start(arguments, environ)
        except BaseException:
            self.release_signals()
            raise
        for which in self._early:
            self._pass_on(which)
        started(self._process.pid)

    def wait(self) -> int:
        """Wait for the end; the exit code as a shell tells it, 128 and more for a signal."""
        assert self._process is not None
        pump = threading.Thread(target=self._pump, args=(self._process,), name="aboard-output", daemon=True)
        pump.start()
        orphans = OrphanReaper()
        while (code := self._process.poll()) is None:
            if self._kill_time is not None and time.monotonic() >= self._kill_time:
                self._kill_time = None
                self._signal(signal.SIGKILL)
            orphans.reap(self._process.pid)
            pump.join(_LOOK_SECONDS) if pump.is_alive() else time.sleep(_LOOK_SECONDS)
        # Processes that it left behind may hold its output open.
        pump.join(_LATE_OUTPUT_SECONDS)
        self._process.wait()
        return 128 - code if code < 0 else code

    def release_signals(self) -> None:
        """Have signals do what they did before."""
        for which, earlier in self._earlier.items():
            signal.signal(which, earlier)
        self._earlier.clear()

    def _start(self, arguments: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                list(arguments),
                env=dict(environ),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=end_with_parent(),  # noqa: PLW1509 - one call that takes no lock
                bufsize=0,
            )
        except FileNotFoundError:
            raise InvalidValue(
                f"There is no command {arguments[0]!r}.", hint="Look for a typing error, or give its path."
            ) from None
        except PermissionError:
            raise InvalidValue(
                f"{arguments[0]!r} cannot be executed.", hint=f"Make it executable, or run `python {arguments[0]}`."
            ) from None
        except (OSError, ValueError) as error:
            raise InvalidValue(f"{arguments[0]!r} cannot be started: {error}.") from None

    def _take_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for which in _PASSED_ON:
                self._earlier[which] = signal.signal(which, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        which = signal.Signals(number)
        if self._process is None:
            self._early.append(which)
        else:
            self._pass_on(which)

    def _pass_on(self, which: signal.Signals) -> None:
        if which in _ENDING:
            again = self.asked_to_end is not None and which == signal.SIGINT
            if self.asked_to_end is None:
                self.asked_to_end, self.asked_at = which, time.monotonic()
                self._kill_time = self.asked_at + self._grace
            if again:
                self._kill_time = time.monotonic()
        self._signal(which)

    def _signal(self, which: signal.Signals) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has just ended
                os.killpg(self._process.pid, which)

    def _pump(self, process: subprocess.Popen[bytes]) -> None:
        """Pass output on as it comes, and keep it."""
        with selectors.DefaultSelector() as selector:
            for name, file, target in (("stdout", process.stdout, 1), ("stderr", process.stderr, 2)):
                if file is not None:
                    selector.register(file, selectors.EVENT_READ, _Passing(name, target))
            while selector.get_map():
                for key, _ in sorted(selector.select(), key=lambda ready: ready[0].data.turn):
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                        continue
                    key.data.pass_on(data)
                    self._log.write(key.data.name, data)


class _Passing:
    """The way of one stream to the supervisor's own; who no longer listens there does not stop the training."""

    def __init__(self, name: str, target: int) -> None:
        self.name = name
        self._target = target
        self._is_open = True
        self._is_within_line = False

    @property
    def turn(self) -> tuple[bool, str]:
        """Lines that were begun are ended first; then errors, which were perhaps said before a flood of output."""
        return not self._is_within_line, self.name

    def pass_on(self, data: bytes) -> None:
        self._is_within_line = not data.endswith(b"\n")
        rest = memoryview(data)
        while rest and self._is_open:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                self._is_open = False
