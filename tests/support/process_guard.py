# SPDX-License-Identifier: Apache-2.0
"""Refuses processes and connections during unit tests, by an audit hook of Python.

Native code that forks or connects raises no audit event. Object stores and databases on the network therefore have no
place in unit tests either, although nothing here would notice them.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

_REFUSED_EVENTS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendto",
        "subprocess.Popen",
    }
)
# It binds a socket when it is imported, to learn whether this machine has IPv6.
_ALLOWED_CALLER = "urllib3.util.connection"


class ProcessGuard:
    """Refuses processes and connections while a test runs, on every thread, and remembers what it refused."""

    def __init__(self) -> None:
        self._refused: list[str] | None = None
        sys.addaudithook(self._audit)

    @contextmanager
    def active(self) -> Generator[None]:
        """Fail what runs in this block if it tried, also where its own code swallowed the refusal."""
        before, self._refused = self._refused, []
        refused = self._refused
        try:
            yield
        except BaseException as error:
            if not refused:
                raise
            raise pytest.fail.Exception("\n".join(refused)) from error  # whose traceback shows the call
        finally:
            self._refused = before
        if refused:
            pytest.fail("\n".join(refused), pytrace=False)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _REFUSED_EVENTS or self._refused is None:
            return
        if sys._getframe(1).f_globals.get("__name__") == _ALLOWED_CALLER:
            return
        message = (
            f"A unit test called {event}{arguments!r}. "
            "Unit tests start no processes and open no sockets: call the code within the test, "
            "or move the test to tests/integration (processes) or tests/contract (services)."
        )
        self._refused.append(message)
        raise RuntimeError(message)


GUARD = ProcessGuard()
