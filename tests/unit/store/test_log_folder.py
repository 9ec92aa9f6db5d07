# SPDX-License-Identifier: Apache-2.0
"""Log folders as stores: shipping leaves event files below the URI and nothing else, also beside other writers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aboard._native import frame_record, scalars_in_records
from aboard.errors import StoreError
from aboard.events.event import SUMMARY, event
from aboard.events.tensor import scalar
from aboard.run.spool import write_json
from aboard.run.supervisor import log_spool
from aboard.run.supervisor.log_spool import LogFolderUpload
from aboard.store import Store, open_store
from aboard.store.log_folder import LogFolderStore

UIDS = ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW")


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store = open_store(f"memory://{tmp_path.name}/logs")
    opened = log_spool.open_store
    monkeypatch.setattr(log_spool, "open_store", lambda uri, **named: store if uri == "x" else opened(uri, **named))
    return store


def begun(folder: Path, uid: str) -> tuple[LogFolderUpload, Path]:
    """A folder on its way, and an event file in it."""
    file = folder / uid / f"output/tensorboard/train/events.out.tfevents.1.host.1.0.{uid[-3:]}"
    file.parent.mkdir(parents=True)
    write_json(folder / uid / "folder.json", {"uri": "x"})
    return LogFolderUpload(folder / uid), file


def append(file: Path, step: int) -> None:
    with file.open("ab") as out:
        out.write(frame_record(event(SUMMARY, scalar("loss", step), wall_time=1.0 + step, step=step)))


def steps(store: Store, mark: str) -> list[int]:
    keys = [entry.key for entry in store.list() if mark in entry.key]
    return [step for key in keys for _, _, step, _ in scalars_in_records(store.get(key))[0]]


def test_each_byte_is_sent_about_twice_and_small_pieces_become_one(tmp_path: Path, remote: Store) -> None:
    folder, file = begun(tmp_path, UIDS[0])
    for step in range(300):
        append(file, step)
        folder.ship_once()
    sent, size = remote.traffic.count().bytes_out, file.stat().st_size
    assert size <= sent < 2.2 * size
    assert len(list(remote.list())) < 64
    assert steps(remote, "FAV") == list(range(300))
    state = folder.finish(10)
    assert state
    assert state.is_sealed
    assert not state.files_left
    (key,) = [entry.key for entry in remote.list()]
    assert key == f"train/{file.name}.00000000"
    assert steps(remote, "FAV") == list(range(300))


@pytest.mark.parametrize("lost", ["journal", "journal and manifest", "everything"])
def test_others_in_the_same_folder_are_left_alone(tmp_path: Path, remote: Store, lost: str) -> None:
    one, mine = begun(tmp_path / "a", UIDS[0])
    other, theirs = begun(tmp_path / "b", UIDS[1])
    remote.put("train/notes.txt", b"by hand")
    remote.put("train/events.out.tfevents.1.elsewhere.00000003", b"foreign")
    for step in range(3):
        append(mine, step)
        append(theirs, step)
        one.ship_once()
        other.ship_once()
    (tmp_path / "a" / UIDS[0] / "journal.json").unlink()  # so that what is there is found out by listing
    documents = tmp_path / "a" / UIDS[0] / "documents"
    if lost == "journal and manifest":
        (documents / UIDS[0] / "manifest.json").unlink()
    elif lost == "everything":
        shutil.rmtree(documents)
    before = {entry.key for entry in remote.list() if "FAV" not in entry.key}
    again = LogFolderUpload(tmp_path / "a" / UIDS[0])
    append(mine, 3)
    assert (state := again.finish(10))
    assert state.is_sealed
    assert {entry.key for entry in remote.list() if "FAV" not in entry.key} == before
    assert steps(remote, "FAV") == [0, 1, 2, 3]
    assert steps(remote, "FAW") == [0, 1, 2]
    assert remote.get("train/notes.txt") == b"by hand"
    assert remote.get("train/events.out.tfevents.1.elsewhere.00000003") == b"foreign"


def test_folders_need_no_shipping(tmp_path: Path) -> None:
    folder = open_store(tmp_path, create=True)
    with pytest.raises(StoreError, match="needs nobody who ships"):
        LogFolderStore(folder, folder, UIDS[0], lambda _: True)
