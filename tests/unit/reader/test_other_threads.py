# SPDX-License-Identifier: Apache-2.0
"""Native calls that lock, read or sort let other Python threads run, and objects end without holding them up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard._native import Logdir, LogTree, TagIndex, hop_records, masked_crc32c, scalars_in_records
from aboard.reader.run_collection import RunCollection
from aboard.reader.run_reader import RunReader

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


@pytest.mark.parametrize("name", CALLS)
def test_a_logdir_lets_others_run(logdir: Logdir, name: str) -> None:
    assert lets_others_run(lambda: CALLS[name](logdir))


@pytest.mark.parametrize("call", [masked_crc32c, hop_records, scalars_in_records])
def test_checksums_of_bytes_let_others_run(call: Callable[[bytes], object]) -> None:
    data = b"x" * 100_000
    assert lets_others_run(lambda: call(data))


def test_a_log_that_ends_lets_others_run(tmp_path: Path) -> None:
    """What cannot be written when a log ends is reported to stderr, here a pipe that only another thread empties."""
    script = """
import os, shutil, sys, threading
from aboard._native import EventLog

folder = sys.argv[1]
log = EventLog(os.fsencode(folder), "host", "", None, 86400.0)
log.add_scalar("x", 1.0, 1, 1.0)
shutil.rmtree(folder)
open(folder, "w").close()
reads, writes = os.pipe()
os.set_blocking(writes, False)
try:
    while True:
        os.write(writes, bytes(4096))
except BlockingIOError:
    os.set_blocking(writes, True)
os.dup2(writes, 2)
asked = threading.Lock()
asked.acquire()
found = []

def read():
    asked.acquire()
    while b"could not be written" not in b"".join(found):
        found.append(os.read(reads, 1 << 20))

other = threading.Thread(target=read)
other.start()
sys.setswitchinterval(3600)
asked.release()
del log
other.join()
print("ended")
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "logs")], stdout=subprocess.PIPE, timeout=60, check=True
    )
    assert ended.stdout == b"ended\n"


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


def test_a_child_lists_tags_while_another_thread_of_its_parent_does(logdir: Logdir, tmp_path: Path) -> None:
    run = RunReader("run", tmp_path)
    run.logdir.refresh([name for name, *_ in logdir.files()])
    with run._lock:  # as the other thread would, which is not there in the child
        assert holds_in_child(lambda: [tag.name for tag in run.tags()] == ["loss", "note/text_summary"])


@pytest.mark.parametrize("is_refreshing", [False, True])
def test_a_child_goes_on_following_folders(logdir: Logdir, tmp_path: Path, *, is_refreshing: bool) -> None:
    collection = RunCollection({"": tmp_path})
    collection.watch()
    collection.refresh()
    reader = collection.runs["."]

    def sees_what_comes() -> bool:
        with SummaryWriter(tmp_path / "later") as writer:
            writer.add_scalar("loss", 1.0, 1)
        collection.refresh()
        read_again = collection.runs["."] is not reader
        tags = [tag.name for tag in collection.runs["."].tags()]
        assert tags == ["loss", "note/text_summary"]
        return set(collection.runs) == {".", "later"} and read_again == is_refreshing

    if is_refreshing:
        with collection._refreshing:
            assert holds_in_child(sees_what_comes)
    else:
        assert holds_in_child(sees_what_comes)
    while "later" not in collection.runs:  # which the child has taken from nobody
        collection.wait(0.01)
        collection.read_new(lambda: False)
    assert collection.runs["."] is reader


def holds_in_child(condition: Callable[[], bool]) -> bool:
    """Whether a condition holds in the child of a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, of a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os._exit(0 if condition() else 1)
        finally:
            traceback.print_exc()
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
