# SPDX-License-Identifier: Apache-2.0
"""What is particular to folders: appending, links, permissions, file systems that lack something, cheap imports."""

import errno
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aboard.errors import (
    AccessDenied,
    InvalidValue,
    KeyExists,
    KeyNotFound,
    NoSuchStore,
    PositionMismatch,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from aboard.store import open_store
from support.privileges import folder_of_an_ordinary_user


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


@pytest.fixture
def store(root):
    return open_store(root, create=True)


def names(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_keys_are_paths(store, root):
    store.put("run1/tb/events.out.tfevents.1.host", b"abc")
    assert (root / "run1/tb/events.out.tfevents.1.host").read_bytes() == b"abc"
    (root / "other").write_bytes(b"by hand")
    assert store.get("other") == b"by hand"


def test_nothing_is_left_aside(store, root):
    store.put("a/x", b"1")
    store.put("a/x", b"2")
    store.put("a/y", b"1", create_only=True)
    with pytest.raises(KeyExists):
        store.put("a/y", b"2", create_only=True)
    assert names(root) == ["a", "a/x", "a/y"]


def test_files_being_written_are_neither_listed_nor_reachable(store, root):
    (root / ".aboard-aside-0123").write_bytes(b"half")
    store.put("x", b"")
    assert [entry.key for entry in store.list()] == ["x"]
    with pytest.raises(InvalidValue):
        store.get(".aboard-aside-0123")


def test_new_files_obey_the_umask(store, root):
    earlier = os.umask(0o027)
    try:
        store.put("d/x", b"")
        store.append("d/y", b"", 0)
    finally:
        os.umask(earlier)
    assert [stat.S_IMODE((root / "d" / name).stat().st_mode) for name in "xy"] == [0o640, 0o640]
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o750


def test_a_missing_folder_is_named(root):
    store = open_store(root)
    for act in (
        store.check,
        lambda: store.get("x"),
        lambda: store.put("x", b""),
        lambda: store.append("x", b"", 0),
        lambda: store.delete("x"),
        lambda: list(store.list()),
        lambda: list(store.list_folders()),
    ):
        with pytest.raises(NoSuchStore, match="no folder") as caught:
            act()
        assert str(root) in str(caught.value)
    assert not root.exists()


def test_a_file_is_no_store(root):
    root.write_bytes(b"")
    with pytest.raises(NoSuchStore, match="not a folder"):
        open_store(root).check()
    with pytest.raises(NoSuchStore, match="not a folder"):
        open_store(root, create=True).put("x", b"")


def test_create_makes_the_folder_but_not_for_reading(root):
    open_store(root / "a/b", create=True).check()
    open_store(root / "c", create=True, read_only=True)
    assert not (root / "c").exists()


def test_append_checks_the_position(store):
    assert store.append("log", b"abc", 0) == 3
    for position in (0, 2, 4):
        with pytest.raises(PositionMismatch, match="ends at byte 3") as caught:
            store.append("log", b"x", position)
        assert caught.value.size == 3
    assert store.append("log", b"def", 3) == 6
    assert store.get("log") == b"abcdef"
    with pytest.raises(PositionMismatch, match="does not exist") as caught:
        store.append("new/other", b"x", 5)
    assert caught.value.size == 0
    with pytest.raises(InvalidValue):
        store.append("log", b"x", -1)


def test_append_changes_the_etag_and_is_seen(store):
    store.append("log", b"abc", 0)
    etag = store.head("log").etag
    store.append("log", b"def", 3)
    assert store.get_if_changed("log", etag).data == b"abcdef"


def test_one_of_many_appends_at_one_position_wins(store):
    start = threading.Barrier(6)

    def append(number):
        start.wait()
        try:
            return store.append("log", bytes([number]) * 10, 0)
        except PositionMismatch:
            return None

    with ThreadPoolExecutor(6) as threads:
        ends = list(threads.map(append, range(6)))
    assert [end for end in ends if end] == [10]
    assert len(set(store.get("log"))) == 1


def test_a_failed_append_leaves_nothing_behind(store, monkeypatch):
    store.append("log", b"abc", 0)
    write = os.pwrite

    def full_after_two(descriptor, data, position):
        if position >= 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:2], position)

    monkeypatch.setattr(os, "pwrite", full_after_two)
    with pytest.raises(StoreFull, match="No space left") as caught:
        store.append("log", b"defgh", 3)
    assert caught.value.temporary
    monkeypatch.setattr(os, "pwrite", write)
    assert store.get("log") == b"abc"
    assert store.append("log", b"defgh", 3) == 8


def test_a_failed_put_leaves_the_old_content(store, root, monkeypatch):
    store.put("x", b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    for create_only in (False, True):
        with pytest.raises(StoreFull):
            store.put("x", b"new", create_only=create_only)
    assert store.get("x") == b"old"
    assert names(root) == ["x"]


@pytest.mark.parametrize("reason", [errno.EPERM, errno.EOPNOTSUPP])
def test_create_only_without_hard_links(store, root, monkeypatch, reason):
    def no_links(*_, **__):
        raise OSError(reason, "no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    big = os.urandom(3_000_000)
    etag = store.put("claim", big, create_only=True)
    assert store.get("claim") == big
    assert store.head("claim").etag == etag
    with pytest.raises(KeyExists):
        store.put("claim", b"second", create_only=True)
    assert store.get("claim") == big
    assert names(root) == ["claim"]


def test_a_link_whose_answer_was_lost_counts(store, monkeypatch):
    link = os.link

    def done_and_refused(*arguments, **options):
        link(*arguments, **options)
        raise FileExistsError(errno.EEXIST, "repeated by NFS")

    monkeypatch.setattr(os, "link", done_and_refused)
    store.put("claim", b"mine", create_only=True)
    assert store.get("claim") == b"mine"


def test_file_systems_without_locks(store, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr("fcntl.flock", no_locks)
    assert store.append("log", b"abc", 0) == 3


def test_a_stale_mount_is_temporary(store, monkeypatch):
    store.put("x", b"1")

    def stale(*_):
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(os, "pread", stale)
    with pytest.raises(StoreUnreachable, match="Stale"):
        store.get("x")


def test_quick_overwrites_of_one_size_have_different_etags(root):
    store = open_store(root, create=True, fsync=False)
    etags = [store.put("x", bytes([number])) for number in range(200)]
    assert len(set(etags)) == 200


def test_time_stamps_are_finer_than_the_ticks_of_the_kernel(store, root, monkeypatch):
    now = 1_800_000_000_123_456_789
    monkeypatch.setattr("time.time_ns", lambda: now)
    for create_only in (False, True):
        store.delete("x")
        store.put("x", b"", create_only=create_only)
        assert (root / "x").stat().st_mtime_ns == now


def test_links_are_neither_followed_nor_listed(store, root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    store.put("inside/x", b"1")
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / "inner").symlink_to(root / "inside")
    for key in ("folder/secret", "file"):
        with pytest.raises(AccessDenied, match="symbolic links"):
            store.get(key)
    for act in (lambda: store.put("folder/new", b""), lambda: store.append("file", b"more", 6)):
        with pytest.raises(AccessDenied, match="symbolic links"):
            act()
    assert [entry.key for entry in store.list()] == ["inside/x"]
    assert list(store.list_folders()) == ["inside"]
    store.put("file", b"replaced, not followed")
    assert (outside / "secret").read_bytes() == b"secret"
    assert names(outside) == ["secret"]


def test_the_root_itself_may_be_a_link(store, root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    store.put("x", b"1")
    assert open_store(tmp_path / "link").get("x") == b"1"


def test_a_pipe_does_not_make_anyone_wait(store, root):
    os.mkfifo(root / "pipe")
    with pytest.raises(KeyNotFound):
        store.get("pipe")
    assert list(store.list()) == []


def test_a_file_cannot_be_a_folder_too(store):
    store.put("a", b"1")
    with pytest.raises(StoreError, match="same name"):
        store.put("a/b", b"2")
    store.put("d/e", b"")
    with pytest.raises(StoreError, match="same name"):
        store.put("d", b"")


def test_deleting_drops_empty_folders_only(store, root):
    store.put("a/b/c", b"")
    store.put("a/d", b"")
    store.delete("a/b/c")
    assert names(root) == ["a", "a/d"]
    store.delete("a/d")
    assert names(root) == []
    assert root.is_dir()


def test_putting_while_others_delete(store):
    def churn(number):
        for _ in range(50):
            store.put(f"shared/folder/{number}", b"x")
            store.delete(f"shared/folder/{number}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(churn, range(4)))
    assert list(store.list()) == []


def test_permissions_are_named():
    with folder_of_an_ordinary_user() as root:
        store = open_store(root)
        store.put("run/x", b"1")
        (root / "run").chmod(0o500)
        with pytest.raises(AccessDenied, match="permission to write") as caught:
            store.put("run/x", b"2")
        assert isinstance(caught.value, PermissionError)
        with pytest.raises(AccessDenied, match="permission to delete"):
            store.delete("run/x")
        assert store.get("run/x") == b"1"
        (root / "run/x").chmod(0o000)
        with pytest.raises(AccessDenied, match="permission to read"):
            store.get("run/x")
        (root / "run").chmod(0o000)
        with pytest.raises(AccessDenied, match="permission to list"):
            list(store.list())
        assert Path(root).is_dir()


def test_a_root_that_cannot_be_reached():
    with folder_of_an_ordinary_user() as folder:
        store = open_store(folder / "closed/root", create=True)
        store.put("x", b"")
        (folder / "closed").chmod(0o000)
        for act in (store.check, lambda: store.get("x"), lambda: list(store.list()), lambda: store.put("x", b"")):
            with pytest.raises(AccessDenied, match="reach"):
                act()


def test_reading_needs_no_more_than_reading():
    with folder_of_an_ordinary_user() as root:
        open_store(root).put("run/x", b"1")
        for path in (root / "run/x", root / "run", root):
            path.chmod(0o500 if path.is_dir() else 0o400)
        store = open_store(root, read_only=True)
        store.check()
        assert [store.get(entry.key) for entry in store.list()] == [b"1"]
        assert list(store.list_folders()) == ["run"]


def test_names_that_are_no_keys_are_skipped(store, root):
    Path(os.fsdecode(os.fsencode(root) + b"/not-utf8-\xff")).write_bytes(b"")
    (root / "back\\slash").write_bytes(b"")
    store.put("x", b"")
    assert [entry.key for entry in store.list()] == ["x"]
