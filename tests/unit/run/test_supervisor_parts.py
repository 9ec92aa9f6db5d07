# SPDX-License-Identifier: Apache-2.0
"""Small parts of the supervisor: the kept output, the Python of a command, runs found by name, locks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from aboard.errors import RunClaimed
from aboard.model.names import new_uid
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.run.secrets import Secrets
from aboard.run.spool import FactLog, FactReader, read_json, write_json
from aboard.run.supervisor.command import OutputLog
from aboard.run.supervisor.context import interpreter_of
from aboard.run.supervisor.start import find_run
from aboard.run.supervisor.uploads import spool_locked
from aboard.store import open_store
from aboard.store.run.run_folder import RunFolder
from aboard.upload.uploader import UploadState
from support.stored_runs import store_run


@pytest.mark.parametrize("chunk", [1, 10, 1000])
def test_the_beginning_and_the_end_of_output_are_kept(tmp_path: Path, chunk: int) -> None:
    log = OutputLog(tmp_path / "1.txt", Secrets([]), head_bytes=50, tail_bytes=30)
    data = bytes(range(32, 122)) * 2
    for place in range(0, len(data), chunk):
        log.write("stdout", data[place : place + chunk])
    log.close()
    assert (tmp_path / "1.txt").read_bytes() == data[:50] + b"\n[aboard: 100 bytes were left out here]\n" + data[-30:]


def test_output_within_the_limit_is_kept_as_it_is(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "1.txt", Secrets([]), head_bytes=50, tail_bytes=30)
    log.write("stdout", b"a" * 60)
    log.write("stderr", b"b" * 10)
    log.close()
    assert (tmp_path / "1.txt").read_bytes() == b"a" * 60 + b"b" * 10


def test_output_that_a_full_disk_did_not_take_is_counted_and_the_rest_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "1.txt"
    log = OutputLog(path, Secrets([]))
    log.write("stdout", b"before ")
    real = log._file
    log._file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115
    for _ in range(3):
        log.write("stdout", b"lost ")
    log._file.close()
    log._file = real
    log.write("stdout", b"after ")
    log.close()
    assert path.read_bytes() == b"before \n[aboard: 15 bytes could not be written here]\nafter "
    assert [record.getMessage() for record in caplog.records] == [
        "The output of the command is not kept for now: No space left on device."
    ]


def test_the_python_of_a_command(tmp_path: Path) -> None:
    launcher, python = tmp_path / "torchrun", tmp_path / "python3.11"
    python.symlink_to(sys.executable)
    launcher.write_text(f"#!{python} -s\nprint(1)\n")
    launcher.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert interpreter_of(["torchrun", "train.py"], environ) == str(python)
    assert interpreter_of(["python3.11", "train.py"], environ) == str(python)
    assert interpreter_of(["env", "A=1", "python3.11", "train.py"], environ) == str(python)


def test_runs_are_found_by_name_and_read_once(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    uids: list[str] = []
    for workspace, name in [("lab", "first"), ("lab", "second"), ("lab", "First"), ("other", "third")]:
        run = RunRecord(uid=new_uid(), workspace=workspace, created=now(), name=name)
        RunFolder(store, run.uid).create_run(run)
        uids.append(run.uid)
    found = find_run(store, "lab", "FIRST", tmp_path)
    assert found is not None
    assert found.uid == uids[2]
    assert find_run(store, "lab", "third", tmp_path) is None
    before = store.traffic.count().requests["get"]
    assert find_run(store, "lab", "second", tmp_path) is not None
    assert store.traffic.count().requests["get"] == before + 1
    RunFolder(store, uids[1]).write_run(
        RunRecord(uid=uids[1], workspace="lab", created=now(), name="second", deleted=now())
    )
    assert find_run(store, "lab", "second", tmp_path) is None


@pytest.mark.parametrize("uid", ["7ZZZZZZZZZZZZZZZZZZZZZZZZZ", ""])
def test_a_run_is_found_by_its_name_beside_one_with_an_impossible_uid_or_name(tmp_path: Path, uid: str):
    store = open_store(str(tmp_path / "store"), create=True)
    bad, good = store_run(store, uid=uid, workspace="lab"), store_run(store, name="good", workspace="lab")
    document = json.loads(store.get(f"{bad}/run.json"))
    store.put(f"{bad}/run.json", json.dumps({**document, "name": "a\ud800", "experiment": "\ud800"}).encode())
    for _ in range(2):  # the second search begins with what the first one kept
        found = find_run(store, "lab", "good", tmp_path)
        assert found is not None
        assert found.uid == good


def test_half_a_character_is_kept_in_a_document_of_this_machine(tmp_path: Path):
    write_json(tmp_path / "document.json", {"name": "a\ud800"})
    assert read_json(tmp_path / "document.json") == {"name": "a\ud800"}


def test_one_process_at_a_time_works_on_a_spool(tmp_path: Path) -> None:
    with spool_locked(tmp_path / "spool"), pytest.raises(RunClaimed, match=f"process {os.getpid()} of this machine"):
        spool_locked(tmp_path / "spool").__enter__()
    with spool_locked(tmp_path / "spool"):
        pass


def test_facts_are_whole_lines_and_read_once(tmp_path: Path) -> None:
    log, reader = FactLog(tmp_path), FactReader(tmp_path)
    assert reader.new() == []
    log.append("note", text="ä\nb")
    (fact,) = reader.new()
    assert (fact["kind"], fact["text"], fact["pid"]) == ("note", "ä\nb", os.getpid())
    with log.path.open("ab") as file:
        file.write(b'{"kind": "note", "te')
    assert reader.new() == []
    with log.path.open("ab") as file:
        file.write(b'xt": "c"}\nnot json\n')
    log.append("tags", values={"x": ""})
    assert [fact["kind"] for fact in reader.new()] == ["note", "tags"]


def test_one_file_is_not_written_as_several():
    assert (
        str(UploadState(files=1, bytes=5, files_left=1, bytes_left=2))
        == "1 file, 5 bytes in the store; 1 file, 2 bytes left"
    )
    assert str(UploadState(files=2, bytes=5)).startswith("2 files, ")
