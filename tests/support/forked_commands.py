# SPDX-License-Identifier: Apache-2.0
"""The command `aboard` in processes of its own that need not import anything first.

A server process imports what commands need, once for all tests of a worker, and each command is a fork of it: a real
process with its own environment, signals and descriptors, within a hundredth of a second. Tests of the entry point
itself start an interpreter (`support.viewing.ABOARD`).

Local servers, which clients start in the background, can be such forks, too: `forked_local_servers`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

import pytest

from aboard.client.local_server import LocalServer

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["support.warm_commands", "support.forked_commands"])


class _Reading(threading.Thread):
    """Reads a stream to its end."""

    def __init__(self, stream: IO[Any]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.content: Any = None
        self.start()

    def run(self) -> None:
        self.content = self._stream.read()
        self._stream.close()


class ForkedCommand:
    """A running command, used as a `subprocess.Popen` whose streams are pipes, in text mode or of bytes."""

    def __init__(
        self,
        *arguments: object,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        text: bool = True,
    ) -> None:
        out, err = os.pipe(), os.pipe()
        how: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"} if text else {"mode": "rb"}
        self.stdout = os.fdopen(out[0], **how)
        self.stderr = os.fdopen(err[0], **how)
        self._reading: list[_Reading] = []
        self._process = _fork(arguments, env, cwd, out[1], err[1])
        for write_end in (out[1], err[1]):
            os.close(write_end)
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = 60) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("aboard", timeout)
        return self._process.exitcode

    def communicate(self, timeout: float = 60) -> tuple[Any, Any]:
        """Both streams to their end, which is that of all processes that have them; may be called again when late."""
        if not self._reading:
            self._reading = [_Reading(stream) for stream in (self.stdout, self.stderr)]
        end = time.monotonic() + timeout
        for one in self._reading:
            one.join(max(0.0, end - time.monotonic()))
            if one.is_alive():
                raise subprocess.TimeoutExpired("aboard", timeout)
        self.wait(max(0.0, end - time.monotonic()))
        return self._reading[0].content, self._reading[1].content

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextlib.contextmanager
def forked_local_servers() -> Generator[None]:
    """Have the clients of this process fork the local servers that they start; these end with the context."""
    started: list[Any] = []

    def spawn(server: LocalServer) -> None:
        environment = {**os.environ, "ABOARD_HOME": str(server._home), "ABOARD_STORE": server._store}
        with server._files.log.open("ab") as log:
            words = server._command()
            started.append(_fork(words[words.index("server") :], environment, Path("/"), log.fileno(), log.fileno()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalServer, "_spawn", spawn)
        yield
    for process in started:
        process.kill()
        process.join(60)


def _fork(arguments: Iterable[object], env: Mapping[str, str] | None, cwd: Path | None, out: int, err: int) -> Any:
    _start_server()
    environment = dict(os.environ if env is None else env)
    given = ([*map(str, arguments)], environment, str(cwd or Path.cwd()), DupFd(out), DupFd(err))
    process = _CONTEXT.Process(target=_run_aboard, args=given, daemon=True)
    process.start()
    return process


@functools.cache
def _start_server() -> None:
    """Start the process that is forked, which finds modules of the tests by its environment alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        forkserver.ensure_running()


def _run_aboard(arguments: list[str], environment: dict[str, str], folder: str, out: Any, err: Any) -> None:
    """In the new process: what the interpreter and the entry point do at their beginning, and the command."""
    os.setsid()
    for number, given in ((1, out), (2, err)):
        descriptor = given.detach()
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), "utf-8")
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    sys.argv = ["aboard", *arguments]
    from aboard.cli import main

    try:
        main()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
