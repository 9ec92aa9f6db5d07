# SPDX-License-Identifier: Apache-2.0
"""A run on a training machine, its store, and what a reader sees who knows nothing but the documents of the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aboard._native import frame_record
from aboard.model.names import new_uid
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.store import Store
from aboard.store.run.documents import AttemptClaim, Manifest
from aboard.store.run.file_rows import FileRow
from aboard.store.run.run_folder import RunFolder, read_logical
from aboard.upload.scan import Spool
from aboard.upload.uploader import Uploader


class Hands:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += seconds


@dataclass
class Trip:
    """One attempt of a run between a spool and a store."""

    spool: Spool
    store: Store
    claim: AttemptClaim
    clock: Hands = field(default_factory=Hands)

    @classmethod
    def begin(cls, folder: Path, store: Store) -> Trip:
        """A new run; nothing of it is in the store yet."""
        uid = new_uid()
        spool = Spool.at(folder / uid)
        (spool.output / "tensorboard").mkdir(parents=True)
        spool.folder.joinpath("log").mkdir()
        claim = AttemptClaim(number=1, token=new_uid(), claimed=now(), host="machine", pid=7)
        spool.write_attempt(claim)
        spool.write_run(RunRecord(uid=uid, workspace="lab", created=now()))
        return cls(spool, store, claim)

    @property
    def output(self) -> Path:
        return self.spool.output

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.store, self.spool.uid)

    def shipper(self, **options: Any) -> Uploader:
        """A shipper as a new process would make it."""
        options.setdefault("monotonic", self.clock)
        return Uploader(self.spool, options.pop("store", self.store), **options)

    def manifest(self) -> Manifest:
        read = self.folder.read_manifest()
        assert read is not None, "there is no manifest"
        return read.manifest

    def rows(self) -> dict[str, FileRow]:
        """All files in the store, by source."""
        outputs = self.folder.read_outputs()
        return {row.source: row for row in (*self.manifest().files, *(outputs.files if outputs else ()))}

    def content(self, source: str) -> bytes:
        """What a reader gets of a file."""
        return read_logical(self.folder, self.rows()[source])

    def objects(self, top: str = "") -> list[str]:
        """The paths of the run's objects."""
        return sorted(entry.key for entry in self.folder.list(top))

    def check_equal(self) -> None:
        """The store has all local files, byte for byte, and names nothing that is not there."""
        local = {
            f"{top}/{path.relative_to(root).as_posix()}": path
            for top, root in (("output", self.output), ("log", self.spool.folder / "log"))
            for path in root.rglob("*")
            if path.is_file() and not path.is_symlink()
        }
        rows = self.rows()
        for source, path in local.items():
            if path.stat().st_size:
                assert source in rows, f"{source} is not in the store, only {list(rows)}"
                assert self.content(source) == path.read_bytes(), source
        named = {path for row in rows.values() for path in row.objects()}
        there = {path for top in ("tb", "log", "output") for path in self.objects(top)}
        assert named == there


def records(first: int, count: int, size: int = 40) -> bytes:
    """Whole records, each different from all others."""
    return b"".join(frame_record(f"{number:08d}".encode().ljust(size, b".")) for number in range(first, first + count))


def append(path: Path, data: bytes) -> None:
    """Write at the end, as a training process does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)
