# SPDX-License-Identifier: Apache-2.0
"""Long runs, by `make soak`: ten million points by threads and processes, and a minute of forks, kills and reopening.

SOAK_POINTS and SOAK_SECONDS make them shorter for a try.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

from aboard._native import scalars_in_records
from support import processes

POINTS = int(os.environ.get("SOAK_POINTS", "10000000"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "60"))
PROCESSES = THREADS = 4
EACH = POINTS // (PROCESSES * THREADS)
PIECE = 4 << 20


def read_in_pieces(path: Path) -> Iterator[tuple[str, int]]:
    """(tag, step) of every scalar of a file, a piece at a time; every byte must be a whole record."""
    rest = b""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            found, consumed = scalars_in_records(rest + piece)
            rest = (rest + piece)[consumed:]
            yield from ((tag, step) for tag, _, step, _ in found)
    assert not rest


def test_ten_million_points_by_four_threads_in_each_of_four_processes(tmp_path: Path) -> None:
    script = """
        import sys, threading
        from aboard import SummaryWriter

        folder, process, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
        writer = SummaryWriter(folder)

        def log(tag):
            for step in range(count):
                writer.add_scalar(tag, step, step)

        for index in range(4):
            threading.Thread(target=log, args=(f"p{process}t{index}",)).start()
    """
    began = time.monotonic()
    started = [processes.start(tmp_path, script, tmp_path / "run", number, EACH) for number in range(PROCESSES)]
    for process in started:
        ended = processes.finish(process, seconds=600)
        assert (ended.code, ended.err) == (0, "")
    print(f"{POINTS} points in {time.monotonic() - began:.1f} s")
    paths = processes.files(tmp_path / "run")
    assert len(paths) == PROCESSES
    next_step: dict[str, int] = {}
    for path in paths:
        for tag, step in read_in_pieces(path):
            assert step == next_step.get(tag, 0), f"{tag} has {step} after {next_step.get(tag, 0) - 1}"
            next_step[tag] = step + 1
    assert next_step == {f"p{process}t{index}": EACH for process in range(PROCESSES) for index in range(THREADS)}
    for path in paths:  # the first 20 000 also as TensorBoard reads them
        records = itertools.islice(RawEventFileLoader(str(path)).Load(), 20_001)
        sample = [(v.tag, event.step) for event in map(Event.FromString, records) for v in event.summary.value]
        assert sample == list(itertools.islice(read_in_pieces(path), len(sample)))
        assert len(sample) == min(20_000, EACH * THREADS)


CHURN = """
    import os, random, sys, threading, time
    import numpy as np
    from aboard import SummaryWriter

    folder, seed = sys.argv[1], int(sys.argv[2])
    random.seed(seed)
    writer = SummaryWriter(folder)
    confirmed = os.open(f"{folder}/confirmed.{seed}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def log(name):
        for step in range(10**9):
            writer.add_scalar(name, step, step)
            if random.random() < 0.002:
                writer.flush()
                os.write(confirmed, f"{name} {step}\\n".encode())  # a flush has returned: this step is in a file
            if random.random() < 0.001:
                writer.close()
            if random.random() < 0.0005:
                writer.add_image(f"{name}/image", np.zeros((1, 20, 20)), step)
            time.sleep(0.0001)

    for index in range(3):
        threading.Thread(target=log, args=(f"s{seed}t{index}",), daemon=True).start()
    for number in range(10**9):
        time.sleep(0.05)
        child = os.fork()
        if not child:
            for step in range(20):
                writer.add_scalar(f"s{seed}c{number}", step, step)
            writer.close()
            os.write(confirmed, f"s{seed}c{number} 19\\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
"""


@pytest.mark.timeout(int(SECONDS) + 300)
def test_a_minute_of_forks_kills_and_reopening(tmp_path: Path) -> None:
    end = time.monotonic() + SECONDS
    folder = tmp_path / "run"
    folder.mkdir()
    seed = 0
    while time.monotonic() < end:
        running = [processes.start(tmp_path, CHURN, folder, seed + number) for number in range(2)]
        seed += len(running)
        time.sleep(random.uniform(1.5, 4))
        for process in running:
            assert process.poll() is None, processes.finish(process)
            process.send_signal(signal.SIGKILL)
        for process in running:
            assert processes.finish(process).err == ""
    highest: dict[str, int] = {}
    for path in processes.files(folder):
        found, consumed = scalars_in_records(path.read_bytes())
        assert path.stat().st_size - consumed < 4096, f"{path} is damaged at {consumed}"
        for tag, _, step, _ in found:
            # Files of one process come in order, and so does each series in them.
            assert step == highest.get(tag, -1) + 1, f"{path}: {tag} has {step} after {highest.get(tag)}"
            highest[tag] = step
    promised = [line.split() for path in folder.glob("confirmed.*") for line in path.read_text().splitlines()]
    assert len(promised) > seed
    for tag, step in promised:
        assert highest[tag] >= int(step)
