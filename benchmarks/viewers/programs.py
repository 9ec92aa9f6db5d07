# SPDX-License-Identifier: Apache-2.0
"""The programs that are compared, as a person starts them, and when each of them has read everything."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from viewers.browser import Browser, NotYet
from viewers.children import Child
from viewers.data_server import FINISHED, LOGGING, seconds_of

ABOARD = "aboard"
FAST = "load_fast=true"
SLOW = "load_fast=false"

_SCRIPTS = Path(sys.executable).parent
_LOOK_EVERY = 0.02
_SLOW_FINISHED = r"TensorBoard done reloading\. Load took ([\d.]+) secs"


@dataclass(frozen=True)
class Loaded:
    """Seconds until all was read: by the program's own clock where it has one, and from its start on."""

    inside: float | None
    whole: float


class Server:
    """A running program that shows one folder."""

    def __init__(self, program: Program, folder: Path, *options: str, home: str | None = None) -> None:
        """Start it, with nothing of earlier runs and of the person's own unless there is a `home`."""
        self.port = _free_port()
        self._program = program
        self._home = TemporaryDirectory(prefix="bench-home-")
        environment = {
            **program.environment,
            "ABOARD_HOME": home or self._home.name,
            "TMPDIR": self._home.name,
        }
        self.child = Child([*program.command(folder, self.port), *options], environment)
        self.browser = Browser(self.port)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self.child.__exit__()
        self._home.cleanup()

    def wait_until_loaded(self, *, timeout: float = 3600) -> Loaded:
        """Wait for the end of the first reading."""
        return self._program.loaded(self, timeout)

    def first_answer(self, path: str, *, browser: Browser | None = None, timeout: float = 120) -> float:
        """Seconds from the start of the process to the first whole answer of a route."""
        visitor, deadline = browser or self.browser, time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.child.must_live()
            try:
                visitor.get(path)
            except NotYet:
                time.sleep(0.002)
            else:
                return time.monotonic() - self.child.started
        raise SystemExit(f"{self._program.name} did not answer {path} within {timeout:g} s")


@dataclass(frozen=True)
class Program:
    name: str
    command: Callable[[Path, int], Sequence[str | Path]]
    loaded: Callable[[Server, float], Loaded]
    environment: Mapping[str, str] = field(default_factory=dict)


def _aboard_loaded(server: Server, timeout: float) -> Loaded:
    while time.monotonic() - server.child.started < timeout:
        server.first_answer("healthz")
        if json.loads(server.browser.get("api/v1/progress").body)["complete"]:
            return Loaded(None, time.monotonic() - server.child.started)
        time.sleep(_LOOK_EVERY)
    raise SystemExit(f"aboard did not read everything within {timeout:g} s")


def _fast_loaded(server: Server, timeout: float) -> Loaded:
    match, when = server.child.wait_for(FINISHED, timeout=timeout)
    server.first_answer("data/environment")
    return Loaded(seconds_of(match), when - server.child.started)


def _slow_loaded(server: Server, timeout: float) -> Loaded:
    match, when = server.child.wait_for(_SLOW_FINISHED, timeout=timeout)
    server.first_answer("data/environment")
    return Loaded(float(match[1]), when - server.child.started)


def _tensorboard(mode: str, *options: str) -> Callable[[Path, int], Sequence[str | Path]]:
    def command(folder: Path, port: int) -> Sequence[str | Path]:
        return [_SCRIPTS / "tensorboard", f"--logdir={folder}", f"--{mode}", f"--port={port}", *options]

    return command


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            ABOARD,
            lambda folder, port: [_SCRIPTS / "aboard", "view", folder, "--json", "--no-browser", f"--port={port}"],
            _aboard_loaded,
        ),
        Program(FAST, _tensorboard(FAST), _fast_loaded, LOGGING),
        # Its log at this level tells when everything was read. It also gets a line for each request.
        Program(SLOW, _tensorboard(SLOW, "--verbosity=0"), _slow_loaded),
    )
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
