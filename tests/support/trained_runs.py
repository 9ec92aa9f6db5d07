# SPDX-License-Identifier: Apache-2.0
"""Runs that were trained and shipped into a store, as `aboard run` does it, for tests that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.model.names import new_uid
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.store import Store
from aboard.store.run.claims import claim_attempt
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from aboard.upload.scan import Spool
from aboard.upload.uploader import Uploader


@dataclass
class StoredRun:
    """A run on a training machine and in a store; `log` writes points, `ship` sends what is new."""

    store: Store
    spool: Spool
    shipper: Uploader
    _writers: dict[str, SummaryWriter] = field(default_factory=dict)

    @classmethod
    def begin(
        cls,
        store: Store,
        folder: Path,
        name: str = "",
        *,
        uid: str = "",
        tags: Mapping[str, str] | None = None,
        experiment: str | None = None,
    ) -> StoredRun:
        uid = uid or new_uid()
        run = RunRecord(uid=uid, workspace="lab", created=now(), name=name, tags=tags or {}, experiment=experiment)
        RunFolder(store, uid).create_run(run)
        return cls._attempt(store, folder, uid)

    @classmethod
    def _attempt(cls, store: Store, folder: Path, uid: str) -> StoredRun:
        claim = claim_attempt(RunFolder(store, uid), AttemptClaim(number=0, token=new_uid(), claimed=now()))
        spool = Spool.at(folder / f"attempt-{claim.number}" / uid)
        spool.write_attempt(claim)
        return cls(store, spool, Uploader(spool, store, claim=claim))

    def again(self, folder: Path) -> StoredRun:
        """Another attempt of the same run, on another machine."""
        return self._attempt(self.store, folder, self.uid)

    @property
    def uid(self) -> str:
        return self.spool.uid

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.store, self.spool.uid)

    def writer(self, logdir: str = "train") -> SummaryWriter:
        if logdir not in self._writers:
            self._writers[logdir] = SummaryWriter(str(self.spool.output / "tensorboard" / logdir))
        return self._writers[logdir]

    def log(self, steps: range, tag: str = "loss", logdir: str = "train", scale: float = 1.0) -> None:
        writer = self.writer(logdir)
        for step in steps:
            writer.add_scalar(tag, step * scale, step)
        writer.flush()

    def ship(self) -> None:
        for writer in self._writers.values():
            writer.flush()
        self.shipper.ship_once()

    def finish(self, status: str = "completed") -> None:
        for writer in self._writers.values():
            writer.close()
        assert self.shipper.finish(status, timeout=60).is_sealed


def without_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on runs are sealed as earlier versions did it, with event files alone."""
    monkeypatch.setattr("aboard.upload.uploader.packed_columns", lambda *_: None)


def stored_run(store: Store, folder: Path, name: str, write: Callable[[StoredRun], object]) -> StoredRun:
    """A run that was trained to its end."""
    run = StoredRun.begin(store, folder, name)
    write(run)
    run.finish()
    return run
