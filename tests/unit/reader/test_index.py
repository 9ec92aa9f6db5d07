# SPDX-License-Identifier: Apache-2.0
"""A second opening finds what the first one decoded; the cache stays within its limit and is never needed."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.reader.index import IndexCache
from aboard.reader.run import RunReader
from support.privileges import folder_of_an_ordinary_user


def _log(folder: Path, points: int, first: int = 0) -> Path:
    with SummaryWriter(folder) as writer:
        for step in range(first, first + points):
            writer.add_scalar("a tag with a name that is not so short", float(step), step)
    return folder


def _path(cache: IndexCache, folder: Path, file: str | None = None) -> Path:
    return Path(cache.place_of(str(folder), file))


def _open(folder: Path, cache: IndexCache) -> RunReader:
    run = RunReader("run", folder, _path(cache, folder))
    run.logdir.refresh([os.fsencode(path.name) for path in folder.iterdir()])
    return run


def _indexes(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def test_a_second_opening_reads_nothing_of_a_finished_run(tmp_path: Path) -> None:
    folder, cache = _log(tmp_path / "run", 2000), IndexCache(tmp_path / "cache")
    first = _open(folder, cache)
    cache.keep([first.logdir])
    second = _open(folder, IndexCache(tmp_path / "cache"))
    assert second.logdir.bytes_read == 0
    assert (first.tags()[0].points().values == second.tags()[0].points().values).all()
    assert (first.tags()[0].name, first.tags()[0].meaning) == (second.tags()[0].name, second.tags()[0].meaning)
    assert not second.tags()[0].points().values.flags.writeable


def test_damage_of_an_index_is_noticed_by_who_looks_at_the_points(tmp_path: Path) -> None:
    folder, cache = _log(tmp_path / "run", 2000), IndexCache(tmp_path / "cache")
    cache.keep([_open(folder, cache).logdir])
    (index,) = _indexes(tmp_path / "cache")
    content = bytearray(index.read_bytes())
    content[len(content) // 3] ^= 1  # in the columns, which are nearly all of it
    index.write_bytes(content)
    run = _open(folder, cache)
    (tag,) = run.tags()
    assert (tag.status.points, tag.status.last_step) == (2000, 1999)
    assert tag.points().steps.tolist() == list(range(2000))
    assert tag.points().values.tolist() == [float(step) for step in range(2000)]
    assert not index.exists()
    cache.keep([run.logdir])
    assert _open(folder, cache).logdir.bytes_read == 0


def test_what_was_kept_leaves_the_memory_and_goes_on(tmp_path: Path) -> None:
    folder, cache = _log(tmp_path / "run", 300_000), IndexCache(tmp_path / "cache")
    run = _open(folder, cache)
    before = _private_kilobytes()
    cache.keep([run.logdir])
    assert _private_kilobytes() < before - 4000  # of 7,000 that the points take
    (tag,) = run.tags()
    held = tag.points()
    assert held.steps.tolist() == list(range(300_000))
    _log(folder, 5, first=300_000)
    run.logdir.refresh([os.fsencode(path.name) for path in folder.iterdir()])
    assert (len(held), len(tag.points())) == (300_000, 300_005)
    assert tag.points().steps[-1] == 300_004


def _private_kilobytes() -> int:
    """Memory of this process that is in no file."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def test_only_the_persons_own_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    folder = _log(tmp_path / "run", 2000)
    before = sorted(tmp_path.joinpath("run").iterdir())
    cache = IndexCache.default()
    cache.keep([_open(folder, cache).logdir])
    assert sorted(folder.iterdir()) == before
    (index,) = _indexes(tmp_path / "home")
    assert index.parent == tmp_path / "home" / "cache" / "index" / "v1"
    assert index.parent.stat().st_mode & 0o077 == 0
    assert index.stat().st_mode & 0o077 == 0


def test_small_runs_are_not_worth_a_file(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path / "cache")
    cache.keep([_open(_log(tmp_path / "run", 10), cache).logdir], all_that_is_new=True)
    assert _indexes(tmp_path / "cache") == []


def test_a_growing_run_is_written_when_it_has_grown_much_or_at_the_end(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path / "cache")
    run = _open(_log(tmp_path / "run", 4000), cache)
    cache.keep([run.logdir])
    (index,) = _indexes(tmp_path / "cache")
    written = index.stat().st_ino
    _log(tmp_path / "run", 10, first=4000)
    run.logdir.refresh([os.fsencode(path.name) for path in run.folder.iterdir()])
    cache.keep([run.logdir])
    assert index.stat().st_ino == written
    cache.keep([run.logdir], all_that_is_new=True)
    assert index.stat().st_ino != written
    assert _open(run.folder, cache).logdir.bytes_read == 0


def test_one_file_of_a_folder_has_an_index_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path.parent)
    cache = IndexCache(tmp_path / "cache")
    assert _path(cache, tmp_path) != _path(cache, tmp_path, "events")
    assert _path(cache, tmp_path) == _path(cache, Path(tmp_path.name))


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    folders = [_log(tmp_path / f"run{number}", 4000) for number in range(3)]
    large = IndexCache(tmp_path / "cache")
    for age, folder in enumerate(folders):
        large.keep([_open(folder, large).logdir])
        os.utime(_path(large, folder), (1e9 + age, 1e9 + age))
    size = _path(large, folders[0]).stat().st_size
    abandoned = tmp_path / "cache" / "v1" / "x.1-1.aside"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (1e9, 1e9))
    assert _open(folders[0], large).logdir.bytes_read == 0  # used again: no longer the oldest
    small = IndexCache(tmp_path / "cache", limit=int(size * 3.5))
    small.keep([_open(_log(tmp_path / "another", 4000), small).logdir])
    kept = set(_indexes(tmp_path / "cache"))
    assert _path(small, folders[0]) in kept
    assert _path(small, tmp_path / "another") in kept
    assert _path(small, folders[1]) not in kept
    assert abandoned not in kept
    assert sum(path.stat().st_size for path in kept) <= size * 3.5


def test_a_cache_that_cannot_be_written_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with folder_of_an_ordinary_user() as home, caplog.at_level(logging.WARNING, "aboard.reader"):
        folders = [_log(home / f"run{number}", 2000) for number in range(2)]
        (home / "closed").mkdir(mode=0o500)
        cache = IndexCache(home / "closed" / "cache")
        runs = [_open(folder, cache) for folder in folders]
        cache.keep([run.logdir for run in runs])
    assert [len(run.tags()[0].points()) for run in runs] == [2000, 2000]
    assert len(caplog.records) == 1
    assert "Permission denied" in caplog.text
