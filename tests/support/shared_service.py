# SPDX-License-Identifier: Apache-2.0
"""Services that all workers of a test session share: the first test that needs one starts it.

A service runs below a host process, `python -m support.shared_service`. The host watches the process of the session and
stops the service when that one is gone, so that a killed session leaves nothing behind either.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from aboard.foundation.locks import locked

Value = TypeVar("Value")
_TESTS = Path(__file__).parents[1]
_hosts: list[subprocess.Popen[bytes]] = []
"""Kept because Python warns about processes that are forgotten while they run."""


@dataclass(frozen=True)
class SharedServices:
    """What the workers of one session have in common."""

    folder: Path
    session_process: int
    """The process whose end is the end of the session: pytest, or the controller of pytest-xdist."""

    def start(self, name: str, service: Callable[[], AbstractContextManager[Value]]) -> Value:
        """Return what `service` yields, the same in every worker. Both must be picklable."""
        return self.once(name, lambda: self._host(name, service))

    def once(self, name: str, make: Callable[[], Value]) -> Value:
        """Return what `make` returned in the first worker that called this."""
        self.folder.mkdir(exist_ok=True)
        made = self.folder / f"{name}.pickle"
        with locked(self.folder / f"{name}.lock"):
            if not made.exists():
                made.write_bytes(pickle.dumps(make()))
        return cast("Value", pickle.loads(made.read_bytes()))

    def _host(self, name: str, service: Callable[[], AbstractContextManager[Value]]) -> Value:
        log = self.folder / f"{name}.host.log"
        with log.open("wb") as output:
            host = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self.session_process)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env={**os.environ, "PYTHONPATH": str(_TESTS)},
                start_new_session=True,  # Ctrl-C ends the session, whose end ends the service
            )
        _hosts.append(host)
        assert host.stdin is not None
        assert host.stdout is not None
        with host.stdin as given, host.stdout as answer:
            given.write(pickle.dumps(service))
            given.close()
            sent = answer.read()
        assert sent, f"{name} did not start: {log.read_text('utf-8', 'replace')[-3000:]}"
        return cast("Value", pickle.loads(sent))


def host(session_process: int) -> None:
    """Run the service that stands on stdin until the session ends; write what it yields to stdout."""
    session = os.pidfd_open(session_process)
    service = cast("Callable[[], AbstractContextManager[Any]]", pickle.load(sys.stdin.buffer))
    with service() as value:
        sys.stdout.buffer.write(pickle.dumps(value))
        sys.stdout.flush()
        os.dup2(2, 1)  # the reader waits for the end of the stream, and Python does not close the descriptor of stdout
        select.select([session], [], [])


if __name__ == "__main__":
    host(int(sys.argv[1]))
