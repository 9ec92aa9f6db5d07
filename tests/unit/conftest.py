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


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where that is possible: making and forcing files to a disk takes longer than most tests."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="aboard-unit-", dir=place, ignore_cleanup_errors=True) as folder:
        inner = Path(folder) / Path(folder).name  # some tests write beside it, others name stores in memory after it
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
