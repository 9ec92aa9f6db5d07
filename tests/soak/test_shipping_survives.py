# SPDX-License-Identifier: Apache-2.0
"""A shipping process is killed again and again, and its network cut; a reader who follows is never wrong."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

from aboard.store import open_store
from aboard.store.run.run_folder import ManifestOutdated, read_logical
from aboard.upload.uploader import Uploader
from support.clouds import clear_clouds, use
from support.fault_proxy import fault_proxy
from support.processes import start, until
from support.shipping import Trip, append, records

KILLS = 6
SHIPPER = """
    import sys, threading
    import aboard.upload.segments, aboard.upload.retries
    aboard.upload.retries.USUAL_SECONDS = 0.05   # more moments to be killed at
    aboard.upload.retries.LONGEST_SECONDS = 0.3
    aboard.upload.segments.FEWEST_SMALL = 6    # and more roll-ups
    aboard.upload.segments.SMALL_PER_LARGE = 1
    from aboard.upload.uploader import Uploader
    from aboard.store import Patience
    from aboard.store import open_store

    patience = Patience(connect_seconds=2, stall_seconds=5, request_seconds=10, retries=1, retry_seconds=1)
    print("ready", flush=True)
    Uploader(sys.argv[1], open_store(sys.argv[2], patience=patience)).run(threading.Event())
"""


class Training(threading.Thread):
    """Writes event files, a log and a checkpoint until it is told to stop."""

    def __init__(self, trip):
        super().__init__()
        self._trip = trip
        self._random = random.Random(11)
        self.stop = threading.Event()

    def run(self):
        step = 0
        while not self.stop.wait(0.01):
            for name in ("tensorboard/train/a.tfevents.1", "tensorboard/b.tfevents.2"):
                data = records(step, self._random.randrange(1, 30), self._random.randrange(8, 200))
                cut = self._random.randrange(len(data))
                append(self._trip.output / name, data[:cut])
                time.sleep(0.002)
                append(self._trip.output / name, data[cut:])
            append(self._trip.spool.folder / "log" / "1.txt", f"step {step}\n".encode())
            if step % 40 == 0:
                aside = self._trip.output / ".aboard-aside-test"
                aside.write_bytes(os.urandom(self._random.randrange(200_000)))
                aside.replace(self._trip.output / "model.pt")
            step += 1


class Reader(threading.Thread):
    """Follows the run by its documents alone, and compares what it gets with the local files."""

    def __init__(self, trip):
        super().__init__()
        self._trip = trip
        self.stop = threading.Event()
        self.manifests = self.outdated = self.bytes = 0
        self.wrong = ""
        self._etag, self._manifest = "", None
        self._have: dict[str, bytes] = {}

    def run(self):
        try:
            while not self.stop.wait(0.005):
                self._follow()
        except BaseException as error:
            self.wrong = f"{type(error).__name__}: {error}"
            raise

    def _follow(self):
        read = self._trip.folder.read_manifest_if_changed(self._etag)
        if read:
            self.manifests += 1
            self._etag, self._manifest = read.etag, read.manifest
        for row in self._manifest.files if self._manifest else ():
            have = self._have.get(row.path, b"")
            assert row.bytes >= len(have), f"{row.path} became shorter"
            try:
                have += read_logical(self._trip.folder, row, len(have))
            except ManifestOutdated:
                self.outdated += 1
                again = self._trip.folder.read_manifest_if_changed(self._etag)
                assert again is not None, f"{row.path}: a key is missing and the manifest is still the same"
                self._etag, self._manifest = again.etag, again.manifest
                return
            local = (self._trip.spool.folder / row.source).read_bytes()
            assert local.startswith(have), f"{row.path} is not a prefix of the local file"
            self.bytes += len(have) - len(self._have.get(row.path, b""))
            self._have[row.path] = have


def test_killed_again_and_again_with_the_network_cut(s3_server, monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)
    use(monkeypatch, s3_server.environment())
    store = open_store(f"s3://contract/{tmp_path.name}-{os.getpid()}")
    trip = Trip.begin(tmp_path / "spool", store)
    chance = random.Random(7)
    training, reader = Training(trip), Reader(trip)
    with fault_proxy(s3_server.port) as proxy, contextlib.ExitStack() as stack:
        for thread in (training, reader):
            thread.start()
            stack.callback(thread.join, 30)
            stack.callback(thread.stop.set)
        for kill in range(KILLS):
            process = start(tmp_path, SHIPPER, trip.spool.folder, store.uri, AWS_ENDPOINT_URL=proxy.endpoint)
            stack.callback(process.communicate)
            stack.callback(process.kill)
            assert process.stdout.readline() == "ready\n"
            if kill % 2:
                proxy.lose_answer(method="PUT", times=chance.randrange(1, 4))
            else:
                seen = reader.manifests
                until(lambda seen=seen: reader.manifests > seen + 5 or reader.wrong)
            time.sleep(chance.uniform(0.1, 1.0))
            if kill in {1, 4}:
                proxy.cut()
                time.sleep(chance.uniform(0.2, 0.8))
                if kill == 4:
                    proxy.heal()
                    time.sleep(chance.uniform(0.1, 0.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            proxy.heal()
            if kill == 2:
                trip.spool.journal("journal").unlink(missing_ok=True)
            if kill == 3:
                trip.spool.journal("journal").write_bytes(b'{"format":"aboard-jour')
            assert not reader.wrong
        training.stop.set()
        training.join()
        state = Uploader(trip.spool, store).finish("failed", timeout=60)
        time.sleep(0.3)
    assert not reader.wrong
    assert state.is_sealed
    assert state.files_left == 0
    trip.check_equal()
    assert reader.manifests > 10
    assert reader.bytes > 100_000
    print(reader.manifests, reader.outdated, reader.bytes, proxy.counts())
