# SPDX-License-Identifier: Apache-2.0
"""The keeper of one unit: starts it, waits, ends it with all its processes on time or on request, records the end."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

from .process_tree import MARKER, Process, adopt_orphans, below, end_marked, end_with_keeper, tell
from .unit_folder import Again, Document, UnitFolder, inherited

_LOOK_SECONDS = 0.5
_SIGN_SECONDS = 5.0
_KILL_SECONDS = 30.0  # what does not vanish after SIGKILL hangs in the kernel
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_REQUEUED = "ABOARD_UNIT_REQUEUED"  # how often a scheduler has started the unit again by itself
_BEGUN = "ABOARD_UNIT_BEGUN"  # when the time of the unit began to count, over all its starts
_LIMIT = "ABOARD_UNIT_LIMIT"  # when the scheduler's own limit is reached
_ASKING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


class Keeper:
    """Stands beside one unit, from its start to the end of its last process."""

    def __init__(self, path: Path, *, is_of_slurm: bool = False) -> None:
        self._folder = UnitFolder(path)
        # Another executor's unit may stand within a job of Slurm, and inherit what that is told.
        self._restarts_by_slurm = _restarts_by_slurm() if is_of_slurm else 0
        self._limit_of_slurm = os.environ.get("SLURM_JOB_END_TIME", "") if is_of_slurm else ""
        spec = self._folder.read("spec.json")
        assert spec is not None, f"{path} has no spec.json"
        self._spec = spec
        given = self._folder.read("given.json") or {}
        self._given: dict[str, str] = given.get("environment", {})
        self._asked = False
        self._state: Document = {}
        self._status: int | None = None
        self._child = 0

    def keep(self) -> int:
        """The exit code of the unit, as a shell tells it."""
        wake = self._prepare()
        earlier = self._folder.read("state.json") or {}
        spent = self._spent(earlier)
        ports = _free_ports(self._spec["ports"])
        self._state = {
            "keeper": os.getpid(),
            "host": socket.gethostname(),
            # Slurm counts by itself, also starts that never came this far.
            "attempt": (self._restarts_by_slurm or earlier.get("attempt", 0)) + 1,
            "again": _own_starts(self._folder.again()),
            "ports": ports,
            "started": time.time(),
            "spent": spent,
        }
        self._folder.write("state.json", self._state)
        if earlier and "end" not in earlier:
            end_marked(self._spec["id"], self._spec["grace"])  # what a killed keeper has left: never two at once
        begun = time.monotonic() - spent
        while True:
            code, reason, message = self._once(wake, ports, begun)
            if not self._goes_on(reason):
                return self._write_end(code, reason, message)
            self._folder.count_again(with_keeper=False)
            self._state["again"] = _own_starts(self._folder.again())

    def _spent(self, earlier: Document) -> float:
        """How many seconds earlier keepers had the unit run; what it waited for a place or a machine does not count."""
        if not earlier:
            return 0.0
        last: float = earlier["end"]["time"] if "end" in earlier else self._folder.last_alive()
        return earlier.get("spent", 0.0) + max(0.0, last - earlier["started"])

    def _once(self, wake: int, ports: dict[str, int], begun: float) -> tuple[int, str, str]:
        """One start of the unit, to the end of its last process: the code, reason and message of that."""
        self._status = None
        problem = self._start(self._environment(ports, begun))
        if problem is not None:
            return problem
        self._folder.write("state.json", {**self._state, "pid": self._child})
        reason = self._wait(wake, begun)
        code = _shell_code(self._status if self._status is not None else 0)
        reason, message = self._describe_end(reason, code)
        return code, reason, message

    def _goes_on(self, reason: str) -> bool:
        """Whether something killed the unit that nobody of aboard sent, and starts are left."""
        was_killed = reason == "out_of_memory" or (reason == "exited" and _was_killed(self._status))
        return was_killed and not self._asked and self._folder.may_start_again()

    def _prepare(self) -> int:
        """Signals only wake the loop that waits; the descriptor says when."""
        adopt_orphans()
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for which in (signal.SIGTERM, signal.SIGINT):
            signal.signal(which, self._ask)
        return read

    def _ask(self, *_: object) -> None:
        self._asked = True

    def _environment(self, ports: dict[str, int], begun: float) -> dict[str, str]:
        """Of this process, without what is aboard's own; then what the unit says."""
        environ = inherited()
        environ.update(self._given)
        environ.update(self._times(begun))
        environ.update(self._spec["environment"])
        environ[MARKER] = self._spec["id"]
        for port in self._spec["ports"]:
            environ[port["variable"]] = str(ports[port["name"]])
        if (requeued := self._restarts_by_slurm - self._folder.again().keepers) > 0:
            environ[_REQUEUED] = str(requeued)
        return environ

    def _times(self, begun: float) -> dict[str, str]:
        """By which the unit tells that its time is over from other reasons to be asked to end."""
        told = {_LIMIT: self._limit_of_slurm} if self._limit_of_slurm else {}
        if self._spec["timeout"] is not None:
            told[_BEGUN] = f"{time.time() - (time.monotonic() - begun):.3f}"
        return told

    def _start(self, environ: dict[str, str]) -> tuple[int, str, str] | None:
        """Start the unit; if that fails, the code, reason and message of its end."""
        command: list[str] = [_filled(part, environ) for part in self._spec["command"]]
        output = os.open(self._folder.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            process = subprocess.Popen(
                command,
                cwd=self._spec["source"] or None,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=end_with_keeper(),  # noqa: PLW1509 - one call that takes no lock; this process has no threads
            )
        except FileNotFoundError:
            if self._spec["source"] and not Path(self._spec["source"]).is_dir():
                return 126, "not_started", f"there is no folder {self._spec['source']!r} on {socket.gethostname()}"
            return 127, "not_started", f"there is no command {command[0]!r} on {socket.gethostname()}"
        except OSError as error:
            return 126, "not_started", f"{command[0]!r} cannot be started: {error.strerror}"
        finally:
            os.close(output)
        self._child = process.pid
        process.returncode = 0  # reaped below together with orphans, not by this object
        return None

    def _wait(self, wake: int, begun: float) -> str:
        """Wait for the end, or bring it about; why it ended. All starts share the unit's time."""
        sign = time.monotonic()
        while True:
            self._reap()
            if self._status is not None:
                self._end_all(self._spec["grace"])
                return "exited"
            if self._folder.read("stop.json") is not None or self._asked:
                asked = self._folder.read("stop.json")
                self._end_all(asked["grace"] if asked else self._spec["grace"])
                return "stopped" if asked else "signalled"
            timeout = self._spec["timeout"]
            if timeout is not None and time.monotonic() - begun >= timeout:
                self._end_all(self._spec["grace"])
                return "timeout"
            if self._spec["memory"] and self._memory() > self._spec["memory"]:
                self._end_all(0)
                return "out_of_memory"
            if timeout is not None and time.monotonic() - sign >= _SIGN_SECONDS:
                sign = time.monotonic()
                self._folder.say_alive()
            _sleep(wake, _LOOK_SECONDS if timeout is None else min(_LOOK_SECONDS, begun + timeout - time.monotonic()))

    def _memory(self) -> int:
        return sum(process.memory for process in below(os.getpid()))

    def _reap(self) -> None:
        """Take note of whatever has ended: the unit itself, and what it left behind."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child:
                self._status = status

    def _end_all(self, grace: float) -> None:
        """Ask everything below to end, and kill what has not after the grace.

        The unit's own group is asked first. What has made a group or session of its own, as the training below
        `aboard run`, is asked by its parent, and by the keeper only when the unit itself has ended.
        """
        deadline = time.monotonic() + grace
        if self._status is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGTERM)
                os.killpg(self._child, signal.SIGCONT)  # a halted process could not act on it
            while time.monotonic() < deadline and self._status is None:
                time.sleep(0.02)
                self._reap()
        tell([process.pid for process in self._left()], signal.SIGTERM)
        while time.monotonic() < deadline and self._left():
            time.sleep(0.05)
        deadline = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < deadline:
            left = self._left()
            if not left:
                return
            tell([process.pid for process in left], signal.SIGKILL)
            time.sleep(0.02)

    def _left(self) -> list[Process]:
        self._reap()
        found = below(os.getpid())
        if not found and self._status is None:  # no /proc here: the group is all there is
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, 0)
                return [Process(-self._child, os.getpid(), 0.0, 0)]
        return found

    def _describe_end(self, reason: str, code: int) -> tuple[str, str]:
        if reason == "timeout":
            return reason, f"its time of {self._spec['timeout']:g} s was over"
        if reason == "out_of_memory":
            return reason, f"it took more than {self._spec['memory']} bytes of memory"
        if reason == "stopped":
            return reason, ""
        ended = f"ended by {signal.Signals(code - 128).name}" if 128 < code < 128 + 65 else f"exit code {code}"
        if reason == "signalled":
            return "signalled", f"its keeper was asked to end; {ended}"
        return ("completed", "") if code == 0 else ("exited", ended)

    def _write_end(self, code: int, reason: str, message: str) -> int:
        end = {"reason": reason, "code": code, "message": message, "time": time.time()}
        self._folder.write("state.json", {**self._state, "end": end})
        return code


def _restarts_by_slurm() -> int:
    told = os.environ.get("SLURM_RESTART_COUNT", "")
    return int(told) if told.isdecimal() else 0


def _own_starts(again: Again) -> int:
    """Starts after the first one that one keeper has made."""
    return again.times - again.keepers


def _was_killed(status: int | None) -> bool:
    """By a signal, and none that asks for the end: who sends those has decided something."""
    return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) not in _ASKING


def _wake(*_: object) -> None:
    """Having a handler is enough: the descriptor becomes readable."""


def _free_ports(ports: list[Document]) -> dict[str, int]:
    """A number for each; all are looked for before any is let go, so they differ."""
    numbers: dict[str, int] = {}
    with contextlib.ExitStack() as probes:
        for port in ports:
            number = port["number"]
            if not number:
                probe = probes.enter_context(socket.socket())
                probe.bind(("127.0.0.1", 0))
                number = probe.getsockname()[1]
            numbers[port["name"]] = number
    return numbers


def _filled(text: str, environ: dict[str, str]) -> str:
    """With the values of variables; `$(NAME)` of one that is not there stays as it is, as Kubernetes does it."""
    return _REFERENCE.sub(lambda match: environ.get(match[1], match[0]), text)


def _sleep(wake: int, seconds: float) -> None:
    ready, _, _ = select.select([wake], [], [], max(0.0, seconds))
    if ready:
        with contextlib.suppress(BlockingIOError):
            os.read(wake, 4096)


def _shell_code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
