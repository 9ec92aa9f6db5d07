# SPDX-License-Identifier: Apache-2.0
"""A file that is there wholly or not at all."""

import os
import resource
import threading
from pathlib import Path

import pytest

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.export import check_output, whole_file
from support.privileges import folder_of_an_ordinary_user


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def fail_halfway(path, error, *, force):
    with whole_file(str(path), force=force) as file:
        file.write(b"half")
        raise error


def test_the_name_appears_at_the_end(tmp_path):
    path = tmp_path / "out.csv"
    with whole_file(str(path), force=False) as file:
        file.write(b"all")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert names(tmp_path) == ["out.csv"]


def test_a_folder_that_one_may_not_look_into_is_told():
    with folder_of_an_ordinary_user() as folder:
        closed = folder / "closed"
        closed.mkdir(mode=0o000)
        with pytest.raises(StorageUnavailable, match=r"(?s)x.csv' cannot be written: Permission denied.*Name a"):
            check_output(str(closed / "x.csv"), force=False)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, BrokenPipeError])
@pytest.mark.parametrize("force", [False, True])
def test_a_failure_leaves_nothing_and_keeps_what_was_there(tmp_path, error, force):
    path = tmp_path / "out.csv"
    if force:
        path.write_bytes(b"before")
    with pytest.raises(error):
        fail_halfway(path, error, force=force)
    assert names(tmp_path) == (["out.csv"] if force else [])
    assert not force or path.read_bytes() == b"before"


def test_what_exists_is_replaced_only_by_force(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"before")
    path.chmod(0o640)
    with pytest.raises(InvalidValue, match=r"exists\n.*--force"), whole_file(str(path), force=False):
        pass
    assert path.read_bytes() == b"before"
    with whole_file(str(path), force=True) as file:
        file.write(b"after")
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["out.csv"]


def test_somebody_who_was_quicker_is_not_overwritten(tmp_path):
    path = tmp_path / "out.csv"
    writing = whole_file(str(path), force=False)
    writing.__enter__().write(b"mine")
    path.write_bytes(b"theirs")
    with pytest.raises(InvalidValue, match="exists"):
        writing.__exit__(None, None, None)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["out.csv"]


def test_where_links_cannot_be_made(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    path = tmp_path / "out.csv"
    with whole_file(str(path), force=False) as file:
        file.write(b"all")
    assert path.read_bytes() == b"all"
    assert names(tmp_path) == ["out.csv"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("real")
    with whole_file(str(tmp_path / "link"), force=False) as file:
        file.write(b"one")
    with whole_file(str(tmp_path / "link"), force=True) as file:
        file.write(b"two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"two"


def test_a_device_or_pipe_is_written_as_it_stands(tmp_path):
    with whole_file("/dev/null", force=False) as file:
        file.write(b"away")
    assert Path("/dev/null").is_char_device()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_file(str(pipe), force=True) as file:
        file.write(b"through")
    reader.join(timeout=30)
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_folders_are_said(tmp_path):
    with pytest.raises(InvalidValue, match="is a folder"), whole_file(str(tmp_path), force=True):
        pass
    with pytest.raises(InvalidValue, match="there is no folder"), whole_file(str(tmp_path / "no/x.csv"), force=False):
        pass
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidValue, match="there is no folder"), whole_file(str(tmp_path / "file/x"), force=False):
        pass


def test_a_folder_without_permission_is_said():
    with folder_of_an_ordinary_user() as folder:
        folder.chmod(0o500)
        with (
            pytest.raises(StorageUnavailable, match="cannot be written: Permission denied"),
            whole_file(str(folder / "x.csv"), force=False),
        ):
            pass


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    """A real limit: no file of the process may grow beyond a few bytes."""
    path, limits = tmp_path / "x.csv", resource.getrlimit(resource.RLIMIT_FSIZE)

    def write_much():
        with whole_file(str(path), force=False) as file:
            file.write(b"x" * 10_000_000)

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # Python ignores SIGXFSZ
    try:
        with pytest.raises(StorageUnavailable, match=f"'{path}' cannot be written: File too large"):
            write_much()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == []
