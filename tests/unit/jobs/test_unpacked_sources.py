# SPDX-License-Identifier: Apache-2.0
"""Sources where jobs run: shared by those that have the same, and removed when nobody has used them for long."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from aboard.executors.source_archive import source_archive
from aboard.jobs import sources
from aboard.jobs.sources import enter_unpacked

DAY = 86400.0


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text("print(1)")
    return source_archive(str(tmp_path / "source"), below=".")


def _unpacked(folder: Path, *, days: float = 0.0) -> Path:
    """One that an ended job has left."""
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("print(0)")
    os.utime(folder, (time.time() - days * DAY,) * 2)  # pyright: ignore[reportArgumentType]
    return folder


def test_what_nobody_has_used_for_long_goes(tmp_path: Path, packed: bytes) -> None:
    old = _unpacked(tmp_path / "sources" / "old", days=8)
    begun = _unpacked(tmp_path / "sources" / ".old.0123", days=8)  # by one that was killed
    recent = _unpacked(tmp_path / "sources" / "recent", days=6)
    enter_unpacked(tmp_path / "sources" / "mine", lambda: packed)
    assert Path("train.py").read_text() == "print(1)"
    assert [one.exists() for one in (old, begun, recent)] == [False, False, True]
    assert sorted(one.name for one in (tmp_path / "sources").iterdir()) == ["mine", "recent"]


def test_what_a_job_runs_in_stays_as_long_as_it_runs(
    tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, opened = _unpacked(tmp_path / "sources" / "held"), list[int]()
    flock = fcntl.flock  # noqa: TID251 - the call that a job makes is observed
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", lambda file, how: (opened.append(file), flock(file, how)))
        enter_unpacked(held, lambda: pytest.fail("it is there"))  # the job: its lock belongs to what it has opened
    os.utime(held, (0, 0))
    enter_unpacked(tmp_path / "sources" / "mine", lambda: packed)
    assert (held / "train.py").exists()
    os.close(opened.pop())  # as the end of the job does
    enter_unpacked(tmp_path / "sources" / "mine", lambda: packed)
    assert not held.exists()


def test_one_that_is_used_again_is_young_again(tmp_path: Path) -> None:
    held = _unpacked(tmp_path / "sources" / "held", days=6)
    enter_unpacked(held, lambda: pytest.fail("it is there"))
    assert time.time() - held.stat().st_mtime < DAY


def test_on_a_disk_that_machines_share_nothing_is_removed(
    tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = _unpacked(tmp_path / "sources" / "old", days=8)
    monkeypatch.setattr(sources, "network_file_system_of", lambda _: "nfs")
    enter_unpacked(tmp_path / "sources" / "mine", lambda: packed)
    assert old.exists()


def test_a_folder_that_is_taken_away_in_between_is_made_again(
    tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _unpacked(tmp_path / "sources" / "mine")
    flock, moved = fcntl.flock, tmp_path / "moved"  # noqa: TID251

    def taken_first(held: int, how: int) -> None:
        if not moved.exists():
            folder.rename(moved)
        flock(held, how)

    monkeypatch.setattr(fcntl, "flock", taken_first)
    enter_unpacked(folder, lambda: packed)
    assert (folder / "train.py").read_text() == "print(1)"
    assert Path.cwd() == folder


def test_two_machines_with_one_home_do_not_remove_what_the_other_unpacks(
    tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes of two pods have the same small numbers."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    extract, places = sources.extract_below, list[Path]()

    def both(archive: object, place: Path) -> None:
        places.append(place)
        if len(places) == 1:
            enter_unpacked(tmp_path / "sources" / "mine", lambda: packed)
        extract(archive, place)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "extract_below", both)
    enter_unpacked(tmp_path / "sources" / "mine", lambda: packed)
    assert len(set(places)) == 2
    assert Path("train.py").read_text() == "print(1)"
    assert [one.name for one in (tmp_path / "sources").iterdir()] == ["mine"]
