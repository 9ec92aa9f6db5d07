# SPDX-License-Identifier: Apache-2.0
"""Reading runs from an S3 server: opening them cold beside download and stock TensorBoard, idle cost, live delay."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from viewers.programs import ABOARD, FAST, PROGRAMS, SLOW, Server

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import aboard
from aboard.reader.collection import Follower, RunCollection
from aboard.reader.roots import StoreUri
from aboard.store import Store, open_store
from aboard.upload import uploader
from support.fault_proxy import fault_proxy
from support.object_servers import READER, S3Server, seaweedfs
from support.trained_runs import StoredRun

SIZES = {"small": (10, 1000), "middle": (20, 5000), "large": (20, 20000)}  # curves of a run, and points of each
BUCKET = "bench"
DOWNLOADS_AT_ONCE = 10  # as the aws command does it


def write_curves(folder: Path, tags: int, steps: int) -> Path:
    """An event file; steps are a tenth of a second apart, more or less, as in a training."""
    random = np.random.default_rng(7)
    values = random.standard_normal((tags, steps)).cumsum(1)
    times = 1.79e9 + (0.1 * (1 + 0.1 * random.standard_normal(steps))).cumsum()
    with aboard.SummaryWriter(str(folder)) as writer:
        for step in range(steps):
            for tag in range(tags):
                writer.add_scalar(f"metric{tag}", values[tag, step], step, walltime=times[step] + 1e-5 * tag)
    (path,) = folder.glob("*tfevents*")
    return path


def write_runs(store: Store, folder: Path, count: int, tags: int, steps: int) -> int:
    """Sealed runs, each with the same curves; bytes of event files."""
    curves = write_curves(folder / f"curves-{tags}-{steps}", tags, steps)
    for number in range(count):
        run = StoredRun.begin(store, folder, f"run{number}")
        place = run.spool.output / "tensorboard" / "train" / curves.name
        place.parent.mkdir(parents=True)
        shutil.copyfile(curves, place)
        run.finish()
        shutil.rmtree(run.spool.output)
    return count * curves.stat().st_size


def download(store: Store, to: Path) -> float:
    """Seconds to copy everything, as a person would before starting TensorBoard."""
    started = time.perf_counter()
    entries = [entry for entry in store.list() if "tfevents" in entry.key]

    def copy(key: str) -> None:
        path = to / key
        path.parent.mkdir(parents=True, exist_ok=True)
        store.download(key, path)

    with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as threads:
        list(threads.map(copy, (entry.key for entry in entries)))
    return time.perf_counter() - started


def opened(program: str, what: Path | str, home: str | None = None) -> float:
    """Seconds from the start of the process until it has read everything."""
    with Server(PROGRAMS[program], what, home=home) as server:  # type: ignore[arg-type]
        seconds = server.wait_until_loaded().whole
        if program == ABOARD:
            server.child.interrupt()
        return seconds


def cold(uri: str, rounds: int, peers: list[str]) -> dict[str, object]:
    """Opening sealed runs; the peers have to download them first, and the slow one is measured once."""
    names = ("aboard view", "again", "aboard.open", "aboard.open and one curve of each run", "MB fetched", "download")
    found: dict[str, list[float]] = {name: [] for name in (*names, *peers)}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as home:
            found["aboard view"].append(opened(ABOARD, uri, home))
            found["again"].append(opened(ABOARD, uri, home))
        with tempfile.TemporaryDirectory() as home:
            os.environ["ABOARD_HOME"] = home
            started = time.perf_counter()
            with aboard.open(uri) as runs:
                found["aboard.open"].append(time.perf_counter() - started)
                assert runs._collection is not None
                for run in runs.runs.values():
                    assert len(run.scalars["metric0"].values)
                found["aboard.open and one curve of each run"].append(time.perf_counter() - started)
                found["MB fetched"].append(sum(count.bytes_in for count in runs._collection.traffic.values()) / 1e6)
        with tempfile.TemporaryDirectory() as folder:
            found["download"].append(download(open_store(uri, read_only=True), Path(folder)))
            for peer in peers:
                if peer != SLOW or number == 0:
                    found[peer].append(opened(peer, Path(folder)))
    seconds = {name: statistics.median(each) for name, each in found.items() if each}
    ratios = {
        f"(download + {peer}) / {mine}": round((seconds["download"] + seconds[peer]) / seconds[mine], 1)
        for peer in peers
        for mine in ("aboard view", "aboard.open", "aboard.open and one curve of each run")
    }
    return {"medians": {name: round(value, 2) for name, value in seconds.items()}, **ratios}


@contextlib.contextmanager
def farther_away(server: S3Server, milliseconds: float) -> Iterator[None]:
    """Every request takes longer, as it does to a bucket in a region nearby."""
    with fault_proxy(server.port) as proxy:
        proxy.delay(milliseconds / 1000)
        os.environ["AWS_ENDPOINT_URL"] = proxy.endpoint
        yield
        os.environ.update(server.environment())


def watched(server: S3Server, uri: str, seconds: float, ready: Callable[[RunCollection], bool]) -> dict[str, object]:
    """Requests that arrive at the server while a board over `uri` is open and nothing new is written."""
    with fault_proxy(server.port) as proxy, tempfile.TemporaryDirectory() as home:
        os.environ.update(server.environment(READER) | {"ABOARD_HOME": home, "AWS_ENDPOINT_URL": proxy.endpoint})
        collection = RunCollection({"": StoreUri(uri)})
        follower = Follower(collection, 0.5)
        follower.start()
        while not collection.progress.cycles or not ready(collection):
            time.sleep(0.1)
        time.sleep(3)
        proxy.forget()
        time.sleep(seconds)
        asked = proxy.requests
        follower.stop()
        os.environ.update(server.environment())
    gets = Counter(one.path for one in asked if "list-type" not in one.query)
    return {
        "seconds": seconds,
        "requests about runs": sum(gets.values()),
        "most about one run": max(gets.values(), default=0),
        "polls that the interval allows": round(seconds / 1.0),
        "listings for new runs": len(asked) - sum(gets.values()),
    }


def live_delay(uri: str, folder: Path, points: int) -> dict[str, object]:
    """From `add_scalar` and flush in a training process until the point is in a reader's memory."""
    run = StoredRun.begin(open_store(uri), folder, "delayed")
    run.log(range(1))
    run.ship()
    stop = threading.Event()
    shipping = threading.Thread(target=run.shipper.run, args=(stop,), daemon=True)
    shipping.start()
    seen: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ["ABOARD_HOME"] = home
        collection = RunCollection({"": StoreUri(f"{uri}/{run.uid}")})
        follower = Follower(collection, 0.5)
        follower.start()
        while "delayed/train" not in collection.runs:
            time.sleep(0.05)
        (tag,) = collection.runs["delayed/train"].tags()
        for step in range(1, points + 1):
            time.sleep(0.3 + (step * 0.37) % 1)
            started = time.perf_counter()
            run.log(range(step, step + 1))
            while tag.status.points < step + 1:
                time.sleep(0.01)
            seen.append(time.perf_counter() - started)
        follower.stop()
    stop.set()
    shipping.join()
    return {"points": points, "median s": round(statistics.median(seen), 2), "largest s": round(max(seen), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", nargs="*", default=["small", "middle"], choices=SIZES, help="of the runs")
    parser.add_argument("--cold-only", action="store_true")
    parser.add_argument(
        "--event-files-alone", action="store_true", help="without columns, as earlier versions sealed runs"
    )
    parser.add_argument("--latency", type=float, default=0, help="milliseconds; measure a store so far away, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="*", default=[FAST, SLOW], choices=[FAST, SLOW])
    parser.add_argument("--idle-runs", type=int, default=1000)
    parser.add_argument("--idle-seconds", type=float, default=30)
    parser.add_argument("--points", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, seaweedfs(Path(place), volume_megabytes=512) as server:
        folder = Path(place) / "training"
        server.make_bucket(BUCKET)
        os.environ.update(server.environment())
        if options.event_files_alone:
            setattr(uploader, "packed_columns", lambda *_: None)  # noqa: B010
        measured: dict[str, object] = {"runs": options.runs}
        for name in options.sizes:
            uri = f"s3://{BUCKET}/{name}"
            size = write_runs(open_store(uri), folder, options.runs, *SIZES[name])
            measured[name] = {"MB": round(size / 1e6, 1), **cold(uri, options.rounds, options.peers)}
            print(json.dumps({name: measured[name]}), file=sys.stderr)
            if options.latency:
                with farther_away(server, options.latency):
                    far = measured[f"{name}, {options.latency:g} ms away"] = cold(uri, options.rounds, options.peers)
                print(json.dumps({f"{name}, far": far}), file=sys.stderr)
        if options.cold_only:
            print(json.dumps(measured, indent=2))
            return
        write_runs(open_store(f"s3://{BUCKET}/idle"), folder, options.idle_runs, 10, 2)
        measured["idle, sealed"] = watched(
            server, f"s3://{BUCKET}/idle", options.idle_seconds, lambda one: len(one.runs) == options.idle_runs
        )
        live = [StoredRun.begin(open_store(f"s3://{BUCKET}/live"), folder, f"live{number}") for number in range(10)]
        for run in live:
            run.log(range(3))
            run.ship()
        measured["idle, 10 live"] = watched(
            server, f"s3://{BUCKET}/live", options.idle_seconds, lambda one: len(one.runs) == len(live)
        )
        measured["delay"] = live_delay(f"s3://{BUCKET}/live", folder, options.points)
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
