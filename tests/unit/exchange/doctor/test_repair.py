# SPDX-License-Identifier: Apache-2.0
"""A clean copy: everything that is whole, nothing that is damaged, and originals that nobody touched."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.doctor import repair as destination
from aboard.exchange.doctor.inspection import Inspectors
from aboard.exchange.doctor.repair import Repair, repair
from support.damaged_files import NOON, flipped, scalar, scalars, version, write
from support.privileges import folder_of_an_ordinary_user

NAME = "events.out.tfevents.1"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "clean"


def repaired(root: Path, out: Path, **options: Any) -> Repair:
    """The repair of one folder, of which nothing may change."""
    before = dict(state(root))
    result = repair({"": root}, out, **options)
    assert dict(state(root)) == before
    return result


def state(root: Path) -> Iterator[tuple[str, object]]:
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        content = None
        if path.is_symlink():
            content = str(path.readlink())
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        times = status.st_mtime_ns, status.st_ctime_ns
        yield str(path), (status.st_mode, status.st_ino, status.st_size, *times, content)


def files_in(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def reasons(result: Repair) -> dict[str, str]:
    return {Path(left.path).name: left.reason for left in result.left_out}


def test_a_good_tree_is_copied_byte_for_byte(runs: Path, out: Path) -> None:
    write(runs / "a" / NAME, scalars(range(1000)))
    write(runs / "b" / "train" / NAME, scalars(range(10)))
    write(runs / "b" / "train" / "empty.tfevents", b"")
    write(runs / "b" / "checkpoints" / "model.pt", os.urandom(3_000_000))
    result = repaired(runs, out)
    assert files_in(out) == files_in(runs)
    assert result.is_complete
    assert (result.event_files, result.shortened_files, result.other_files, result.dropped_bytes) == (3, 0, 1, 0)


def test_damaged_parts_and_the_tail_are_dropped(runs: Path, out: Path) -> None:
    records = [scalar(step=step, wall_time=NOON + step) for step in range(10)]
    no_record = b"rubbish that is no record"
    damaged = [*records[:3], flipped(records[3], 25), *records[4:6], no_record, *records[6:], records[0][:20]]
    path = write(runs / NAME, version() + b"".join(damaged))
    result = repaired(runs, out)
    expected = version() + b"".join(record for record in records if record is not records[3])
    assert (out / NAME).read_bytes() == expected
    assert result.is_complete
    assert dict(result.dropped) == {"bad-payload": 1, "bad-header": 1, "truncated": 1}
    assert result.dropped_bytes == path.stat().st_size - len(expected)
    assert [(file.path, file.records) for file in result.shortened] == [(str(path), 10)]


def test_times_and_modes_are_kept(runs: Path, out: Path) -> None:
    good = write(runs / "a" / NAME, scalars(range(10)), age=100_000)
    write(runs / "b" / NAME, flipped(scalars(range(10)), 60), age=200_000)
    other = write(runs / "a" / "config.yaml", b"lr: 1", age=300_000)
    good.chmod(0o640)
    other.chmod(0o400)
    (runs / "a").chmod(0o750)
    os.utime(runs / "a", (NOON, NOON))
    repaired(runs, out)
    for copy in [out, *out.rglob("*")]:
        original = runs / copy.relative_to(out)
        assert copy.stat().st_mode == original.stat().st_mode
        assert copy.stat().st_mtime_ns == original.stat().st_mtime_ns


def test_event_files_alone(runs: Path, out: Path) -> None:
    write(runs / "a" / NAME, scalars(range(10)))
    write(runs / "a" / "model.pt", b"x" * 1000)
    (runs / "a" / "newest.pt").symlink_to("model.pt")
    result = repaired(runs, out, events_only=True)
    assert list(files_in(out)) == [f"a/{NAME}"]
    assert result.is_complete
    assert result.other_files_not_wanted == 1
    assert reasons(result) == {"newest.pt": "what the link leads to is not in the copy"}


def test_links_within_stay_links_and_links_to_elsewhere_become_copies(tmp_path: Path, runs: Path, out: Path) -> None:
    write(runs / "a" / NAME, scalars(range(10)))
    elsewhere = write(tmp_path / "elsewhere" / NAME, flipped(scalars(range(20)), 60))
    (runs / "latest").symlink_to("a")
    (runs / "a" / "up").symlink_to("..")
    (runs / "again.tfevents").symlink_to(f"latest/{NAME}")
    (runs / "by-full-path").symlink_to(runs / "a")
    (runs / "outside").symlink_to("../elsewhere")
    (runs / "broken.tfevents").symlink_to("nowhere")
    (runs / "out-and-in").symlink_to("../runs/a")
    (runs / "x" / "y").mkdir(parents=True)
    (runs / "x" / "y" / "a").symlink_to(runs / "a")  # where "up" would mean another folder
    result = repaired(runs, out)
    assert result.is_complete
    assert (out / "latest").readlink() == Path("a")
    assert (out / "a" / "up").readlink() == Path("..")
    assert (out / "again.tfevents").read_bytes() == scalars(range(10))
    for name in ("by-full-path", "outside", "out-and-in"):
        assert not (out / name).is_symlink()
    assert (out / "by-full-path" / NAME).read_bytes() == scalars(range(10))
    assert 0 < (out / "outside" / NAME).stat().st_size < elsewhere.stat().st_size
    assert reasons(result)["broken.tfevents"] == "what the link leads to is not in the copy"
    assert not (out / "broken.tfevents").is_symlink()
    assert not (out / "x" / "y" / "a" / "up").exists()
    assert reasons(result)["up"] == "this link leads back to a folder above it; it is not followed"


def test_a_copy_into_a_folder_that_a_link_leads_to_does_not_copy_itself(tmp_path: Path, runs: Path) -> None:
    write(runs / NAME, scalars(range(10)))
    write(tmp_path / "disk" / "b" / NAME, scalars(range(20)))
    (runs / "disk").symlink_to(tmp_path / "disk")
    out = tmp_path / "disk" / "clean"
    result = repair({"": runs}, out)
    assert result.is_complete
    assert sorted(files_in(out)) == [f"disk/b/{NAME}", NAME]


def test_what_has_nothing_to_save_is_left_out_and_told(runs: Path, out: Path) -> None:
    write(runs / "a" / NAME, scalars(range(10)))
    write(runs / "a" / "noise.tfevents", b"no event at all, whatever one tries")
    os.mkfifo(runs / "a" / "pipe.tfevents")
    os.mkfifo(runs / "a" / "pipe")
    (runs / "a" / "loop").symlink_to("loop")
    os.mknod(runs / "a" / "socket", stat.S_IFSOCK | 0o600)
    result = repaired(runs, out)
    assert list(files_in(out)) == [f"a/{NAME}"]
    assert reasons(result) == {
        "noise.tfevents": "nothing in it is an event",
        "pipe.tfevents": "is no regular file",
        "pipe": "is no regular file",
        "socket": "is no regular file",
        "loop": "what the link leads to is not in the copy",
    }
    assert result.is_complete


def test_what_cannot_be_read_makes_the_copy_incomplete() -> None:
    with folder_of_an_ordinary_user() as folder:
        runs = folder / "runs"
        write(runs / "good" / NAME, scalars(range(10)))
        write(runs / "secret" / NAME, scalars(range(10))).chmod(0)
        write(runs / "secret" / "config.yaml", b"x").chmod(0)
        (runs / "closed").mkdir(mode=0)
        result = repair({"": runs}, folder / "clean")
        assert not result.is_complete
        assert result.is_confirmed
        assert result.missed == 3
        assert sorted(Path(left.path).name for left in result.left_out if left.missed) == [
            "closed",
            "config.yaml",
            NAME,
        ]
        assert list(files_in(folder / "clean")) == [f"good/{NAME}"]


def test_what_a_failing_disk_still_gives_is_saved(runs: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, read = scalars(range(10)), scalars(range(4))
    write(runs / NAME, whole)

    class FailingDisk(Inspectors):
        """Says of every file that reading failed half-way, as no disk here does."""

        def one(self, path: Path, copy_to: int = -1) -> Any:
            os.write(copy_to, read)
            return SimpleNamespace(
                error=errno.EIO, copy_error=0, size=len(whole), read_to=len(read), records=5, copied_bytes=len(read),
                tail=None, damage=lambda _: (0, 0, []),
            )  # fmt: skip

    from aboard.exchange.doctor import repair as module

    monkeypatch.setattr(module, "Inspectors", FailingDisk)
    result = repaired(runs, out)
    assert (out / NAME).read_bytes() == read
    assert not result.is_complete
    assert result.is_confirmed
    assert reasons(result) == {NAME: f"can be read up to byte {len(read)} only: Input/output error"}


def test_folders_that_may_not_be_written_are_copied() -> None:
    with folder_of_an_ordinary_user() as folder:
        write(folder / "runs" / "a" / NAME, scalars(range(10)))
        (folder / "runs" / "a").chmod(0o500)
        result = repair({"": folder / "runs"}, folder / "clean")
        assert result.is_complete
        assert files_in(folder / "clean") == files_in(folder / "runs")


def test_several_roots_get_a_folder_each(tmp_path: Path, out: Path) -> None:
    file = write(tmp_path / "x" / NAME, scalars(range(10)))
    write(tmp_path / "y" / "deep" / NAME, scalars(range(20)))
    result = repair({"x": file, "second/y": tmp_path / "y"}, out)
    assert sorted(files_in(out)) == [f"second/y/deep/{NAME}", f"x/{NAME}"]
    assert result.is_complete


def test_a_single_file_may_be_copied_into_its_own_folder(runs: Path) -> None:
    file = write(runs / NAME, scalars(range(10)))
    assert repair({"": file}, runs / "clean").is_complete
    assert (runs / "clean" / NAME).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("out", "roots", "said"),
    [
        ("runs/clean", {"": "runs"}, "which is to be copied"),
        ("runs", {"": "runs"}, "lies in"),
        ("void", {"": "void/runs"}, "lies around"),
        ("void", {"": "runs"}, "is not empty"),
        ("link-to-runs/clean", {"": "runs"}, "lies in"),
        ("runs/a/tfevents", {"": "runs/b"}, "is no folder"),
        ("clean", {"..": "runs"}, "cannot be the name of a folder"),
        ("clean", {"/x": "runs"}, "cannot be the name of a folder"),
        ("clean", {"a": "runs/a", "a/b": "runs/b"}, "would lie in one another"),
    ],
)
def test_places_where_no_copy_can_go(tmp_path: Path, out: str, roots: dict[str, str], said: str) -> None:
    for folder in ("runs/a", "runs/b", "void/runs"):
        write(tmp_path / folder / "tfevents", scalars(range(3)))
    (tmp_path / "link-to-runs").symlink_to("runs")
    before = dict(state(tmp_path))
    with pytest.raises(InvalidValue, match=said):
        repair({name: tmp_path / root for name, root in roots.items()}, tmp_path / out)
    assert dict(state(tmp_path)) == before


def test_a_disk_that_is_too_small_is_noticed_before(runs: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(runs / NAME, scalars(range(100)))
    usage = type(destination.shutil.disk_usage(runs))
    monkeypatch.setattr(destination.shutil, "disk_usage", lambda _: usage(1000, 900, 100))
    with pytest.raises(StorageUnavailable, match=r"the copy needs 4\.\d kB, and .* has 100 B left"):
        repair({"": runs}, out)
    assert files_in(out) == {}


def test_an_interrupted_copy_leaves_only_whole_files(runs: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        write(runs / f"{number}" / NAME, scalars(range(10 + number)))
    from aboard.exchange.doctor import repair as module

    finish = module.NewFile.finish

    def interrupted(self: Any, like: os.stat_result) -> None:
        if len(files_in(out)) > 3:
            raise KeyboardInterrupt
        finish(self, like)

    monkeypatch.setattr(module.NewFile, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repair({"": runs}, out)
    assert files_in(out) == {f"{number}/{NAME}": scalars(range(10 + number)) for number in range(3)}
