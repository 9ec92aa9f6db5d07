# SPDX-License-Identifier: Apache-2.0
"""Unit tests start no process and open no connection, have their folders in memory and try few random examples."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

import support.hypothesis_profiles  # noqa: F401  # before tests are defined
from support.process_guard import GUARD

# Making files and forcing them to a disk takes longer than most tests.
_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@pytest.fixture(autouse=True)
def _temporary_files_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", _MEMORY)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, where that is possible."""
    with tempfile.TemporaryDirectory(prefix="aboard-unit-", ignore_cleanup_errors=True) as folder:
        inner = Path(folder, Path(folder).name)  # some tests write beside it, and use its name as one of their own
        inner.mkdir()
        yield inner


# Not the teardown: with the last test of a run end the services of all levels.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    with GUARD.active():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with GUARD.active():
        return (yield)
