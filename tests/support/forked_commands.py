# SPDX-License-Identifier: Apache-2.0
"""The command `aboard` in processes of its own that need not import anything first.

A server process imports what commands need, once for all tests of a worker, and each command is a fork of it: a real
process with its own environment, signals and descriptors, within a hundredth of a second. Tests of the entry point
itself start an interpreter (`support.viewing.ABOARD`).
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

PRELOADED = [
    "aboard.board.hosting",
    "aboard.board.named_runs",
    "aboard.cli.reading_report",
    "aboard.cli.traffic_report",
    "aboard.cli.view",
    "aboard.reader.remote.store_root",
    "aboard.server.view",
    "aboard.server.wsgi_bridge",
    "support.forked_commands",
]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(PRELOADED)


class ForkedCommand:
    """A running command, used as a `subprocess.Popen` in text mode whose streams are pipes."""

    def __init__(
        self,
        *arguments: object,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        out, err = os.pipe(), os.pipe()
        self.stdout = os.fdopen(out[0], encoding="utf-8", errors="surrogateescape")
        self.stderr = os.fdopen(err[0], encoding="utf-8", errors="surrogateescape")
        environment = dict(os.environ if env is None else env)
        given = ([*map(str, arguments)], environment, str(cwd or Path.cwd()), DupFd(out[1]), DupFd(err[1]))
        self._process: Any = _CONTEXT.Process(target=_run_aboard, args=given, daemon=True)
        self._process.start()
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

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run_aboard(arguments: list[str], environment: dict[str, str], folder: str, out: Any, err: Any) -> None:
    """In the new process: what the interpreter and the entry point do at their beginning, and the command."""
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
