# SPDX-License-Identifier: Apache-2.0
"""The command of a run: started in a session of its own, its output passed on and kept, signals passed to it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from aboard.errors import InvalidValue
from aboard.run.supervisor.end_with_parent import end_with_parent
from aboard.run.supervisor.output_log import OutputLog
from aboard.run.supervisor.process_tree import OrphanReaper

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
