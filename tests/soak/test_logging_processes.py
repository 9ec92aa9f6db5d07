# SPDX-License-Identifier: Apache-2.0
"""Processes that log are killed, ended and forked repeatedly; `tests/integration` does each once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.logging_processes import (
    WHILE_EXITING,
    check_exit_while_logging,
    check_forks_while_logging,
    check_sudden_end,
)


@pytest.mark.parametrize("end", ["kill", "terminate", "os._exit"])
@pytest.mark.parametrize("seed", range(5))
def test_ends_at_any_moment(tmp_path: Path, end: str, seed: int) -> None:
    check_sudden_end(tmp_path, end, least=random.Random(seed).randrange(1, 3000))


@pytest.mark.parametrize("what", WHILE_EXITING)
def test_exits_while_daemon_threads_log(tmp_path: Path, what: str) -> None:
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        check_exit_while_logging(folder, what)


def test_a_hundred_forks_while_threads_log(tmp_path: Path) -> None:
    check_forks_while_logging(tmp_path, forks=100)
