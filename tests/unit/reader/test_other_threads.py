# SPDX-License-Identifier: Apache-2.0
"""Native calls that lock, read or sort let other Python threads run, and objects end without holding them up."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard._native import Logdir, LogTree, TagIndex, hop_records, masked_crc32c, scalars_in_records
from support.cases import all_cases

_MOST_CALLS = 2_000_000


@pytest.fixture
def logdir(tmp_path: Path) -> Logdir:
    """A logdir with a curve of several attempts and a text, read."""
    for purge_step in (None, 2):
        with SummaryWriter(tmp_path, purge_step=purge_step) as writer:
            for step in (3, 1, 2, 3):
                writer.add_scalar("loss", 1.0, step)
            writer.add_text("note", "text", 1)
    logdir = Logdir(os.fsencode(tmp_path))
    logdir.refresh(sorted(os.fsencode(path.name) for path in tmp_path.glob("*tfevents*")))
    return logdir


def lets_others_run(call: Callable[[], object]) -> bool:
    """Whether a thread that waits for the interpreter gets it during one of many calls.

    Threads change only where the running one gives the interpreter up: the interval after which it would have to is
    longer than any test.
    """
    asked, has_run = threading.Lock(), threading.Event()

    def run() -> None:
        asked.acquire()
        has_run.set()

    interval = sys.getswitchinterval()
    asked.acquire()
    other = threading.Thread(target=run)
    other.start()
    try:
        sys.setswitchinterval(3600)
        asked.release()
        for _ in range(_MOST_CALLS):
            call()
            if has_run.is_set():
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        other.join()


CALLS: dict[str, Callable[[Logdir], object]] = {
    "scalars": lambda logdir: logdir.scalars(0, False),
    "unique scalars": lambda logdir: logdir.scalars(0, True),
    "superseded": lambda logdir: logdir.superseded(0),
    "media": lambda logdir: logdir.media(1),
    "tags": lambda logdir: logdir.tags(0),
    "statuses": lambda logdir: logdir.statuses(),
    "status": lambda logdir: logdir.status(0),
    "files": lambda logdir: logdir.files(),
    "summary": lambda logdir: logdir.summary(),
    "generation": lambda logdir: logdir.generation,
    "first_wall_time": lambda logdir: logdir.first_wall_time,
    "pack": lambda logdir: logdir.pack(),
    "save_index": lambda logdir: logdir.save_index(),
}


@all_cases("name", CALLS)
def test_a_logdir_lets_others_run(logdir: Logdir, name: str) -> None:
    assert lets_others_run(lambda: CALLS[name](logdir))


@pytest.mark.parametrize("call", [masked_crc32c, hop_records, scalars_in_records])
def test_checksums_of_bytes_let_others_run(call: Callable[[bytes], object]) -> None:
    data = b"x" * 100_000
    assert lets_others_run(lambda: call(data))


def test_objects_end_wherever_they_are_let_go(logdir: Logdir, tmp_path: Path) -> None:
    index = TagIndex(logdir)
    points = logdir.scalars(0, True)
    del logdir
    assert len(index) == 2
    threads = [threading.Thread(target=lambda: LogTree([os.fsencode(tmp_path)]).take(0.1)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del index
    assert points.steps.tolist() == [1, 2, 3]
