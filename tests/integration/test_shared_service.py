# SPDX-License-Identifier: Apache-2.0
"""Services that the workers of a test session share. A temporary folder is the service here."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from support.processes import until
from support.shared_service import SharedServices


@pytest.fixture
def session() -> Generator[subprocess.Popen[bytes]]:
    """A process that stands for a test session."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_a_service_is_started_once_and_ends_with_a_killed_session(
    session: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    workers = [SharedServices(tmp_path / "services", session.pid) for _ in range(2)]
    first, second = (Path(one.start("folder", partial(tempfile.TemporaryDirectory, dir=tmp_path))) for one in workers)
    assert first == second
    assert first.is_dir()
    session.kill()
    session.wait()
    until(lambda: not first.exists())


def test_a_service_that_does_not_start_says_why(session: subprocess.Popen[bytes], tmp_path: Path) -> None:
    services = SharedServices(tmp_path / "services", session.pid)
    with pytest.raises(AssertionError, match=r"(?s)folder did not start.*FileNotFoundError"):
        services.start("folder", partial(tempfile.TemporaryDirectory, dir=tmp_path / "nowhere"))
