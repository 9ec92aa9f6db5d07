# SPDX-License-Identifier: Apache-2.0
"""How logs end: without holding up other Python threads, and complete where a script forgets to close its writer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.reading import raw_events, scalars


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


def test_a_script_that_forgets_to_close_loses_nothing(tmp_path: Path) -> None:
    code = """
import sys
import numpy
from aboard import SummaryWriter

writer = SummaryWriter(sys.argv[1])
for step in range(1000):
    writer.add_scalar("t", step, step)
writer.add_image("i", numpy.zeros((3, 4, 4)))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    assert len(scalars(tmp_path)) == 1000
    assert sum(value.HasField("image") for event in raw_events(tmp_path) for value in event.summary.value) == 1
