# SPDX-License-Identifier: Apache-2.0
"""Runs in a process of its own: aboard's reader and boards without a server around them.

Started as `python -m viewers.worker KIND '{"root": …}'`; prints one line of JSON with its numbers.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

Result = dict[str, float]
# What is kept of a bucket: first, smallest, largest, last, and one that is no number.
POINTS_PER_PIXEL = 5


def _collection(root: str, *, index: bool) -> Any:
    """The runs below `root`, not yet read; `index` keeps what was decoded below `$ABOARD_HOME`."""
    from aboard.reader.collection import RunCollection
    from aboard.reader.index import IndexCache

    return RunCollection({"": Path(root)}, cache=IndexCache.default() if index else None)


def read(root: str, *, index: bool) -> Result:
    """Read everything once, then look at every series."""
    collection = _collection(root, index=index)
    cpu, start = time.process_time(), time.perf_counter()
    collection.refresh()
    load, ready, cpu = time.perf_counter() - start, time.monotonic(), time.process_time() - cpu
    start = time.perf_counter()
    points = [len(tag.points()) for run in collection.runs.values() for tag in run.tags()]
    touch = time.perf_counter() - start
    lasts = [tag.status.last_step for run in collection.runs.values() for tag in run.tags()]
    files = [file for run in collection.runs.values() for file in run.logdir.files()]
    start = time.perf_counter()
    collection.keep(all_that_is_new=True)
    keep = time.perf_counter() - start
    return {
        "load_s": load,
        "ready": ready,
        "cpu_s": cpu,
        "touch_s": touch,
        "keep_s": keep,
        "runs": len(collection.runs),
        "series": len(points),
        "points": sum(points),
        "smallest_last_step": min(lasts, default=-1),
        "largest_last_step": max(lasts, default=-1),
        "bytes_read": sum(run.logdir.bytes_read for run in collection.runs.values()),
        "bytes": sum(file.size for file in files),
        "damaged": sum(file.bad_records + file.skipped_bytes for file in files),
    }


def boards(root: str, *, count: int) -> Result:
    """Further boards in a process that has one."""
    from aboard.board.hosting import BoardApp, SingleBoardApp

    collection = _collection(root, index=False)
    collection.refresh()

    def make(number: int) -> Any:
        return SingleBoardApp(BoardApp(f"board{number}", collection))

    _ask(make(-1), "/data/runs")  # loads what all boards share
    _ask(make(-2), "/data/runs")
    gc.collect()
    before, made, kept = _private_bytes(), [], []
    for number in range(count):
        start = time.perf_counter()
        kept.append(make(number))
        made.append(time.perf_counter() - start)
    gc.collect()
    created = _private_bytes()
    answered = [_timed(lambda board=board: _ask(board, "/data/environment")) for board in kept]
    gc.collect()
    used = _private_bytes()
    return {
        "board_ms": median(made) * 1e3,
        "board_max_ms": max(made) * 1e3,
        "board_kb": (created - before) / count / 1e3,
        "answer_ms": median(answered) * 1e3,
        "used_kb": (used - before) / count / 1e3,
    }


def curves(root: str, *, pixels: int, repetitions: int) -> Result:
    """One long series, reduced for a screen."""
    collection = _collection(root, index=False)
    collection.refresh()
    (run,) = collection.runs.values()
    (tag,) = run.tags()
    points = tag.points()
    last = int(points.steps[-1])
    budget = POINTS_PER_PIXEL * pixels
    begin, tenth, hundredth = last // 3, last // 10, last // 100
    first = _timed(lambda: tag.points().reduced(budget)) * 1e3

    def typical(work: Callable[[], Any]) -> float:
        work()
        return median(_timed(work) for _ in range(repetitions)) * 1e3

    return {
        "points": len(points),
        "points_ms": typical(tag.points),
        "first_ms": first,
        "reduced_ms": typical(lambda: tag.points().reduced(budget)),
        "reduced_few_ms": typical(lambda: tag.points().reduced(pixels)),
        "tenth_ms": typical(lambda: tag.points().window(begin, begin + tenth).reduced(budget)),
        "hundredth_ms": typical(lambda: tag.points().window(begin, begin + hundredth).reduced(budget)),
        "json_ms": typical(lambda: tag.points().reduced(budget).json(True)),
    }


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _ask(board: Any, path: str) -> bytes:
    from werkzeug.test import Client

    response = Client(board).get(path)
    assert response.status_code == 200, response.data
    return response.data


def _private_bytes() -> int:
    """Memory that this process shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


KINDS: dict[str, Callable[..., Result]] = {"read": read, "boards": boards, "curves": curves}


def main() -> None:
    print(json.dumps(KINDS[sys.argv[1]](**json.loads(sys.argv[2]))))


if __name__ == "__main__":
    main()
