# SPDX-License-Identifier: Apache-2.0
"""Unit tests start no process and open no connection: an audit hook fails those that try.

Native code that forks or connects raises no audit event. Object stores and databases on the network therefore have no
place here either, although nothing below would notice them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import support.hypothesis_profiles  # noqa: F401  # before tests are defined

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


class _Guard:
    """Refuses processes and connections while a test runs, on every thread, and remembers what it refused."""

    def __init__(self) -> None:
        self._refused: list[str] | None = None
        sys.addaudithook(self._audit)

    @contextmanager
    def active(self) -> Generator[None]:
        """Fail what runs in this block if it tried, also where its own code swallowed the refusal."""
        self._refused = refused = []
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            if not refused:
                raise
            error = raised
        finally:
            self._refused = None
        if refused:
            pytest.fail("\n".join(refused), pytrace=False) if error is None else pytest.fail("\n".join(refused))

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _REFUSED_EVENTS or self._refused is None:
            return
        message = (
            f"A unit test called {event}{arguments!r}. "
            "Tests with processes or sockets belong to tests/integration or tests/contract."
        )
        self._refused.append(message)
        raise RuntimeError(message)


_guard = _Guard()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where that is possible: making and forcing files to a disk takes longer than most tests."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="aboard-unit-", dir=place, ignore_cleanup_errors=True) as folder:
        inner = Path(folder) / Path(folder).name  # some tests write beside it, others name stores in memory after it
        inner.mkdir()
        yield inner


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    with _guard.active():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with _guard.active():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    with _guard.active():
        return (yield)
