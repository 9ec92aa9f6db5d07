# SPDX-License-Identifier: Apache-2.0
"""A forked child makes names of its own, reads beside its parent, and never hangs in a store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.model import names as uid_module
from aboard.model.names import new_uid
from aboard.reader.collection import RunCollection
from aboard.reader.run import RunReader


def test_a_forked_child_does_not_repeat_its_parents_uids(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = uid_module.time.time_ns() + 10**9  # parent and child make theirs in the same millisecond
    monkeypatch.setattr(uid_module.time, "time_ns", lambda: moment)
    new_uid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, new_uid().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100).decode() != new_uid()


def test_a_child_lists_tags_while_another_thread_of_its_parent_does(tmp_path: Path) -> None:
    log_one_point(tmp_path)
    run = RunReader("run", tmp_path)
    run.logdir.refresh([os.fsencode(path.name) for path in tmp_path.iterdir()])
    with run._lock:  # as the other thread would, which is not there in the child
        assert holds_in_child(lambda: [tag.name for tag in run.tags()] == ["loss"])


@pytest.mark.parametrize("is_refreshing", [False, True])
def test_a_child_goes_on_following_folders(tmp_path: Path, *, is_refreshing: bool) -> None:
    log_one_point(tmp_path)
    collection = RunCollection({"": tmp_path})
    collection.watch()
    collection.refresh()
    reader = collection.runs["."]

    def sees_what_comes() -> bool:
        log_one_point(tmp_path / "later")
        collection.refresh()
        read_again = collection.runs["."] is not reader
        assert [tag.name for tag in collection.runs["."].tags()] == ["loss"]
        return set(collection.runs) == {".", "later"} and read_again == is_refreshing

    with collection._refreshing if is_refreshing else nullcontext():
        assert holds_in_child(sees_what_comes)
    while "later" not in collection.runs:  # which the child has taken from nobody
        collection.wait(0.01)
        collection.read_new(lambda: False)
    assert collection.runs["."] is reader


def test_a_folder_store_costs_no_obstore_and_survives_a_fork(tmp_path: Path) -> None:
    script = """
        import os, sys
        from aboard.store import open_store
        store = open_store(sys.argv[1], create=True)
        store.put("x", b"parent")
        child = os.fork()
        if child == 0:
            store.put("y", b"child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert store.get("y") == b"child"
        assert not {"obstore", "numpy", "asyncio"} & set(sys.modules), sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path / "s"], check=True, timeout=60)


def test_an_object_store_refuses_to_hang_in_a_forked_child() -> None:
    script = """
        import os, sys
        from aboard.store import Connection, Patience, open_store
        from aboard.errors import StoreError
        here = Connection(endpoint="http://127.0.0.1:9", key_id="a", secret="b")
        quick = Patience(retries=0, connect_seconds=1)
        store = open_store("s3://bucket", connection=here, patience=quick)
        try:
            store.get("x")
        except StoreError as error:
            assert "refused" in str(error), error
        child = os.fork()
        if child == 0:
            try:
                store.get("x")
            except StoreError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)


def log_one_point(folder: Path) -> None:
    with SummaryWriter(folder) as writer:
        writer.add_scalar("loss", 1.0, 1)


def holds_in_child(condition: Callable[[], bool]) -> bool:
    """Whether a condition holds in the child of a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, of a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os._exit(0 if condition() else 1)
        finally:
            traceback.print_exc()
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
