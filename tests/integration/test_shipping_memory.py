# SPDX-License-Identifier: Apache-2.0
"""A shipper needs little memory, however large a file is."""

from __future__ import annotations

from pathlib import Path

from aboard.store import open_store
from support.processes import finish, start
from support.shipping import Trip


def test_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    trip = Trip.begin(tmp_path / "spool", open_store(str(tmp_path / "store"), create=True))
    with (trip.output / "large.bin").open("wb") as file:
        file.truncate(200 << 20)
    script = """
        import sys
        from aboard.upload.uploader import Uploader
        from aboard.store import open_store
        assert Uploader(sys.argv[1], open_store(sys.argv[2], fsync=False)).finish("completed", timeout=100).is_sealed
        print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
    """
    ended = finish(start(tmp_path, script, trip.spool.folder, tmp_path / "store"), 100)
    assert ended.code == 0, ended.err
    assert trip.store.head(trip.folder.key("output/large.bin")).size == 200 << 20
    assert int(ended.out) < 150_000  # kilobytes, a third of it Python
