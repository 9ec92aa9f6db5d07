# SPDX-License-Identifier: Apache-2.0
"""Shipping an event file that is flushed often: bytes sent for each byte written, and how far behind a reader is."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path

from aboard._native import frame_record
from aboard.model.names import new_uid
from aboard.model.times import now
from aboard.store import Store, open_store
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.run_folder import RunFolder, read_logical
from aboard.upload.growing import SegmentSender
from aboard.upload.scan import Spool
from aboard.upload.uploader import Uploader

EVENTS = "tensorboard/train/events.out.tfevents.1794788815.worker-0.17550.0"


def new_run(folder: Path) -> tuple[Spool, AttemptClaim]:
    spool = Spool.at(folder / new_uid())
    (spool.output / EVENTS).parent.mkdir(parents=True)
    return spool, AttemptClaim(number=1, token=new_uid(), claimed=now())


def flush_of(size: int, number: int) -> bytes:
    """Records that together have `size` bytes: some scalars, and something larger."""
    data = b"".join(frame_record(os.urandom(60 + (number * place) % 30)) for place in range(size // 200))
    return data + frame_record(os.urandom(size - len(data) - 16))


def bytes_sent(store: Store, folder: Path, flushes: int, size: int) -> dict[str, object]:
    """Every flush is shipped on its own, the worst case; a peer that puts the file again sends half its square."""
    spool, claim = new_run(folder)
    shipper, rolled_up, written = Uploader(spool, store, claim=claim), 0, 0
    roll_up = SegmentSender.roll_up

    def counted(self: SegmentSender, row: object, last: object, data: bytes) -> object:
        nonlocal rolled_up
        rolled_up += len(data)
        return roll_up(self, row, last, data)  # type: ignore[arg-type]

    SegmentSender.roll_up = counted  # type: ignore[method-assign]
    start = time.perf_counter()
    with (spool.output / EVENTS).open("ab") as file:
        for number in range(flushes):
            written += file.write(flush_of(size, number))
            file.flush()
            shipper.ship_once()
    if not shipper.finish("completed").is_sealed:
        raise SystemExit("the run was not sealed")
    seconds = time.perf_counter() - start
    SegmentSender.roll_up = roll_up  # type: ignore[method-assign]
    run = RunFolder(store, spool.uid)
    read = run.read_manifest()
    if read is None or read_logical(run, read.manifest.files[0]) != (spool.output / EVENTS).read_bytes():
        raise SystemExit("the store has not what was written")
    count = store.traffic.count()
    return {
        "flushes": flushes,
        "written": written,
        "before roll-up": round((count.bytes_out - rolled_up) / written, 4),
        "with roll-up": round(count.bytes_out / written, 4),
        "file put again at each flush": flushes / 2,
        "requests": dict(count.requests),
        "segments at the end": len(read.manifest.files[0].segments or ()),
        "ms for each flush": round(1000 * seconds / flushes, 2),
    }


def delays(store: Store, folder: Path, flushes: int) -> dict[str, object]:
    """From a flush until a reader that polls the manifest every half second has the bytes."""
    spool, claim = new_run(folder)
    shipper, stop, seen = Uploader(spool, store, claim=claim), threading.Event(), list[float]()
    thread = threading.Thread(target=shipper.run, args=(stop,), daemon=True)
    thread.start()
    run, size = RunFolder(store, spool.uid), 0
    for number in range(flushes):
        with (spool.output / EVENTS).open("ab") as file:
            size += file.write(flush_of(8192, number))
        start = time.perf_counter()
        while True:
            read = run.read_manifest()
            if read and read.manifest.files and read.manifest.files[0].bytes >= size:
                break
            time.sleep(0.5)
        seen.append(time.perf_counter() - start)
        time.sleep((number * 0.37) % 1)
    stop.set()
    thread.join()
    return {"flushes": flushes, "median s": round(statistics.median(seen), 2), "largest s": round(max(seen), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="memory://shipping", help="URI of an empty store; memory unless told")
    parser.add_argument("--flushes", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=8192, help="of each flush")
    parser.add_argument("--delays", type=int, default=20, help="how many delays to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured: dict[str, object] = {"store": options.store}
        if options.delays:
            measured["delay"] = delays(open_store(options.store), Path(folder), options.delays)
        if options.flushes:
            store = open_store(options.store)
            measured["bytes"] = bytes_sent(store, Path(folder), options.flushes, options.bytes)
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
