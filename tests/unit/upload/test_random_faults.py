# SPDX-License-Identifier: Apache-2.0
"""Random lives of a run: requests fail before or after they took effect, shippers die, files change in every way.

After every request to the store two things hold. What the manifest in the store names is there, and is the beginning of
what the local file is or was. Who still holds an older manifest gets right bytes or finds a key missing.
"""

import random
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.errors import DamagedDocument, StoreError, StoreUnreachable
from aboard.store import open_store
from aboard.store.run.run_folder import ManifestOutdated, read_logical
from aboard.upload import segments
from support.shipping import Trip, append, records

NAMES = ("tensorboard/a.tfevents.1", "train/b.tfevents.2")


class Killed(BaseException):
    """The end of a process."""


class Life:
    """A run, its random troubles, and a reader who checks after each request."""

    def __init__(self, seed, tmp_path, uri):
        self.chance = random.Random(seed)
        self.trip = Trip.begin(tmp_path / "spool", open_store(uri, create=True, fsync=False))
        self.versions = {name.rpartition("/")[2]: [b""] for name in NAMES}
        self.manifests = []
        self.is_troubled = True
        self.step = 0
        self._really_put = self.trip.store.put
        for name in ("put", "put_stream", "append", "delete"):
            setattr(self.trip.store, name, self._unreliable(getattr(self.trip.store, name)))

    def _unreliable(self, call):
        def wrapped(*arguments, **options):
            trouble = self.chance.random() if self.is_troubled else 1.0
            if trouble < 0.03:
                raise Killed
            if trouble < 0.06:
                raise StoreUnreachable("nothing was done")
            result = call(*arguments, **options)
            self.check()
            if trouble < 0.09:
                raise Killed
            if trouble < 0.12:
                raise StoreUnreachable("the answer was lost")
            return result

        return wrapped

    def check(self):
        try:
            read = self.trip.folder.read_manifest()
        except DamagedDocument:
            return
        if read is None:
            return
        for row in read.manifest.files:
            self._check_content(row.source, read_logical(self.trip.folder, row))
        if read.manifest not in self.manifests:
            self.manifests.append(read.manifest)
        old = self.chance.choice(self.manifests)
        for row in old.files:
            try:
                data = read_logical(self.trip.folder, row)
            except ManifestOutdated:
                continue
            self._check_content(row.source, data)

    def _check_content(self, source, data):
        assert any(version.startswith(data) for version in self.versions[source.rpartition("/")[2]])

    def train(self):
        """One random change of one file."""
        name = self.chance.choice(NAMES)
        path, versions = self.trip.output / name, self.versions[name.rpartition("/")[2]]
        self.step += 1
        data = records(self.step * 100, self.chance.randrange(1, 9))
        kind = self.chance.random()
        if kind < 0.7:
            data = data[: self.chance.randrange(len(data))] if self.chance.random() < 0.2 else data
            append(path, data)
            versions[-1] += data
        elif kind < 0.85:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(versions[-1] + data)
            versions[-1] += data
        elif kind < 0.9:
            path.write_bytes(data * 3) if path.exists() else append(path, data * 3)
            versions.append(data * 3)
        elif path.exists():
            kept = versions[-1][: self.chance.randrange(len(versions[-1]) + 1)]
            path.write_bytes(kept)  # caught in the middle of rewriting
            versions.append(kept)

    def ship(self):
        """A shipper until it dies or a new one is wanted."""
        shipper = self.trip.shipper()
        for _ in range(self.chance.randrange(1, 25)):
            self.train()
            self.trip.clock.move(self.chance.choice([0.1, 1.0, 12.0]))
            try:
                shipper.ship_once()
            except Killed:
                break
            except StoreError:
                continue
        if self.chance.random() < 0.15:
            self.trip.spool.journal("journal").unlink(missing_ok=True)
        if self.chance.random() < 0.1:
            self._really_put(self.trip.folder.key("manifest.json"), b'{"format":"aboard-man')


@pytest.fixture(scope="module")
def small_segments():
    """Segments are rolled up early, so that short lives have roll-ups too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "FEWEST_SMALL", 4)
        patch.setattr(segments, "SMALL_PER_LARGE", 1)
        yield


@pytest.mark.usefixtures("small_segments")
@given(seed=st.integers(0, 2**32), is_folder=st.booleans())
def test_random_lives(seed, is_folder):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        life = Life(seed, folder, str(folder / "store") if is_folder else f"memory://{uuid.uuid4().hex}")
        for _ in range(life.chance.randrange(2, 6)):
            life.ship()
        life.is_troubled = False
        state = life.trip.shipper().finish("completed", timeout=60)
        assert state.is_sealed
        life.check()
        for row in life.trip.manifest().files:
            local = (life.trip.spool.folder / row.source).read_bytes()
            stored = read_logical(life.trip.folder, row)
            assert stored == local or stored.startswith(local)  # of a file caught while rewritten, more is kept
        named = {path for row in life.trip.manifest().files for path in row.objects()}
        assert named == set(life.trip.objects("tb"))
