# SPDX-License-Identifier: Apache-2.0
"""Promises that are times, measured on real writers, servers and disks. Nothing else in the tests looks at a clock."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from aboard import SummaryWriter
from support.processes import files, many_steps, until
from support.viewing import viewing

PROMISED_SECONDS = 1.0
FACTOR = 10
"""How late a promise may be kept here.

Several tests share two cores, where a thread waits up to some seconds for its turn. What breaks a promise is later by
more than this factor: a writer without a thread of its own keeps points for two minutes, and a call that waits for a
failing disk waits until somebody repairs it.
"""


def measured(act: Callable[[], object], is_done: Callable[[], object], record: Callable[[str, object], None]) -> float:
    """Seconds from the beginning of `act` until `is_done`."""
    began = time.monotonic()
    act()
    until(is_done)
    seconds = time.monotonic() - began
    record("seconds", seconds)
    return seconds


def test_a_point_is_with_the_operating_system_within_a_second(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Without any call: what is there then is not lost by `kill -9`, which `test_survival.py` tries."""
    with SummaryWriter(str(tmp_path)) as writer:
        (file,) = files(tmp_path)
        seconds = measured(
            lambda: writer.add_scalar("loss", 1.0, 7), lambda: many_steps(file).get("loss") == [7], record_property
        )
    assert seconds < PROMISED_SECONDS * FACTOR


def test_the_newest_point_of_a_live_run_is_seen_soon(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """From the call that logs it until the board has it, while somebody looks."""
    with viewing(tmp_path) as board, SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)
        until(lambda: "run" in board.json("data/plugin/scalars/tags"))
        seconds = measured(
            lambda: writer.add_scalar("loss", 1.0, 1), lambda: len(board.scalars("run")) == 2, record_property
        )
    assert seconds < PROMISED_SECONDS * FACTOR


def test_no_call_waits_for_a_disk_that_fails(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    folder = tmp_path / "run"

    def log() -> None:
        for step in range(200):
            writer.add_scalar("loss", 1.0, step)
            writer.add_text("text", "x" * 1000, step)
        writer.flush()
        writer.close()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = SummaryWriter(str(folder))
        shutil.rmtree(folder)
        folder.touch()
        seconds = measured(log, lambda: True, record_property)
    assert seconds < PROMISED_SECONDS * FACTOR
