# SPDX-License-Identifier: Apache-2.0
"""`aboard doctor` as a person runs it, and its copies in a stock TensorBoard."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.util.tensor_util import make_ndarray

from aboard import SummaryWriter
from aboard.cli.doctor import examine_folders
from support.commands import aboard
from support.damaged_files import NOON, flipped, scalar, scalars, version, write
from support.privileges import folder_of_an_ordinary_user
from support.processes import until

ABOARD = [sys.executable, "-c", "from aboard.cli import main; main()"]
NAME = "events.out.tfevents.1"


def doctor(*arguments):
    """The command within this process; it may never end with a traceback."""
    ended = aboard("doctor", *arguments)
    assert "Traceback" not in ended.err, ended.err
    return ended


def doctor_process(*arguments, **options):
    """The command as from a shell, for what only a process has."""
    return subprocess.run([*ABOARD, "doctor", *map(str, arguments)], timeout=60, check=False, **options)


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def damaged(runs):
    """Three runs: a good one, one with a damaged payload in the middle, one whose end is cut off."""
    records = [scalar(step=step, wall_time=NOON + step, value=step) for step in range(100)]
    write(runs / "good" / NAME, version() + b"".join(records))
    write(runs / "bad" / NAME, version() + b"".join([*records[:50], flipped(records[50], 20), *records[51:]]))
    write(runs / "cut" / NAME, scalars(range(70), tag="loss")[:-5])
    return runs


def test_good_runs_are_healthy(runs):
    with SummaryWriter(runs / "a") as writer:
        writer.add_scalar("loss", 1, 1)
    ended = doctor_process(runs, capture_output=True, text=True)
    assert ended.returncode == 0
    assert ended.stdout.splitlines() == [
        f"Looked at 1 event file in 1 folder: 2 records, {next((runs / 'a').iterdir()).stat().st_size} B.",
        "Found 0 errors, 0 warnings, 0 notes.",
        "healthy: 1 file",
    ]
    assert ended.stderr == ""


def test_damage_is_told_with_file_and_byte(damaged):
    ended = doctor(damaged)
    assert ended.code == 1
    bad = len(version()) + sum(len(scalar(step=step, wall_time=NOON + step, value=step)) for step in range(50))
    assert f"error {damaged}/bad/{NAME}\n  byte {bad:,}: a record of 42 B does not match its checksum" in ended.out
    assert f"error {damaged}/cut/{NAME}\n" in ended.out
    assert "37 B are there and 5 B" in " ".join(ended.out.split())
    assert "write a clean copy with --repair OUT" in ended.out
    assert ended.out.splitlines()[-1] == "damaged: 2 of 3 files"
    assert all(len(line) <= 80 for line in ended.out.splitlines() if str(damaged) not in line)


def test_remarks_are_no_failure(runs):
    write(runs / NAME, scalars([1, 2, 3, 2]))
    ended = doctor(runs)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "healthy with remarks: 1 file, 1 remark"
    assert "tag 'loss' goes back from step 3 to 2 [steps-back]" in ended.out


def test_an_empty_folder(tmp_path):
    ended = doctor(tmp_path)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "no event files found"


def test_much_damage_is_summed_up(runs):
    for number in range(3):
        bad = b"".join(flipped(scalar(step=step), 20) for step in range(30))
        write(runs / str(number) / NAME, version(NOON + number) + bad + scalar())
    ended = doctor(runs)
    assert ended.out.count("does not match its checksum") == 20
    assert "  and 70 more [bad-payload] (--json shows all that are kept)" in ended.out.splitlines()
    document = json.loads(doctor(runs, "--json").out)
    assert document["codes"]["bad-payload"] == 90
    assert sum(item["code"] == "bad-payload" for item in document["findings"]["items"]) == 60


def test_the_document(damaged):
    ended = doctor(damaged, "--json")
    assert ended.code == 1
    document = json.loads(ended.out)
    assert (document["format"], document["version"], document["verdict"]) == ("aboard.doctor", 1, "damaged")
    assert document["paths"] == [str(damaged)]
    assert document["summary"] == "damaged: 2 of 3 files"
    examined = document["examined"]
    assert (examined["files"], examined["damaged_files"], examined["records"]) == (3, 2, 101 + 100 + 70)
    assert document["counts"] == {"error": 2, "warning": 0, "information": 0}
    assert document["codes"] == {"bad-payload": 1, "truncated": 1}
    first = document["findings"]["items"][0]
    assert set(first) == {"severity", "code", "path", "byte", "end", "message", "advice", "details"}
    assert (first["code"], first["end"] - first["byte"]) == ("bad-payload", 42)
    good = next(file for file in document["files"]["items"] if "/good/" in file["path"])
    assert (good["records"], good["lowest_step"], good["highest_step"]) == (101, 0, 99)
    assert good["last_wall_time"] == "2023-11-14T22:14:59.000000Z"
    assert document["repair"] is None


def test_numbers_and_names_that_json_does_not_have(runs):
    name = b"caf\xe9\x1b[31m".decode("utf-8", "surrogateescape")
    write(runs / name / NAME, scalars([2**62, -(2**63)], tag="tag\x1b[31m\u202e"))
    ended = doctor(runs, "--json")
    (finding,) = json.loads(ended.out)["findings"]["items"]
    assert finding["path"] == f"{runs}/caf\ufffd\x1b[31m/{NAME}"
    assert finding["details"]["from_step"] == str(2**62)
    assert finding["details"]["tag"] == "tag\x1b[31m\u202e"
    shown = doctor(runs).out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "caf\\xe9\\x1b[31m" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        (["nowhere"], "there is no folder 'nowhere'"),
        (["ftp://bucket/runs"], "not a kind of store"),
        (["runs", "--events-only"], "--repair OUT"),
        (["runs", "--repair", "runs/clean"], "which is to be copied"),
        (["runs", "--repair", "full"], "is not empty"),
        (["runs", "--repair", "full/file"], "is no folder"),
        (["runs", "--nonsense"], "--nonsense"),
    ],
)
def test_mistakes_end_with_another_code_than_damage(tmp_path, monkeypatch, arguments, said):
    write(tmp_path / "runs" / NAME, scalars(range(3)))
    write(tmp_path / "full" / "file", b"x")
    monkeypatch.chdir(tmp_path)
    ended = doctor(*arguments)
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["runs", NAME, "full", "file"])


def test_a_folder_in_a_folder_that_may_not_be_entered(capfd):
    with folder_of_an_ordinary_user() as root:
        write(root / "closed" / "runs" / NAME, scalars(range(3)))
        (root / "closed").chmod(0)
        with pytest.raises(typer.Exit) as ended:
            examine_folders([f"{root}/closed/runs"], repair_to=None, events_only=False, as_json=False)
    assert ended.value.exit_code == 2
    assert f"cannot look at '{root}/closed/runs': Permission denied" in capfd.readouterr().err


def test_colour_only_on_a_terminal(damaged):
    assert "\x1b[" not in doctor(damaged).out
    assert "\x1b[31m" in on_a_terminal(damaged)
    assert "\x1b[" not in on_a_terminal(damaged, NO_COLOR="1")


def test_a_terminal_that_knows_few_characters(runs):
    write(runs / "ünï" / NAME, scalars([2, 1], tag="täg" * 100))
    ended = doctor_process(runs, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 0
    assert b"?n?" in ended.stdout
    assert b"healthy with remarks: 1 file, 1 remark" in ended.stdout
    assert ended.stderr == b""


def on_a_terminal(*arguments, **environment):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*ABOARD, "doctor", *map(str, arguments)], stdout=theirs, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how a terminal says that the other side is gone
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.wait(60) == 1
    return text.decode()


def values_in_tensorboard(folder):
    """Steps and values of every run's `loss`, as the backend of `tensorboard --load_fast=false` reads them."""
    multiplexer = EventMultiplexer(tensor_size_guidance={"scalars": 0})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return {
        run: [(event.step, float(make_ndarray(event.tensor_proto))) for event in multiplexer.Tensors(run, "loss")]
        for run in multiplexer.Runs()
    }


def test_stock_tensorboard_reads_the_copy_to_its_end(damaged, tmp_path):
    every_point = [(step, float(step)) for step in range(100)]
    before = values_in_tensorboard(damaged)
    assert before["good"] == every_point
    assert before["bad"] == every_point[:50], "stock TensorBoard stops at the damaged record"
    out = tmp_path / "clean"
    ended = doctor(damaged, "--repair", out)
    assert ended.code == 0, ended.out
    after = values_in_tensorboard(out)
    assert after["good"] == every_point
    assert after["bad"] == every_point[:50] + every_point[51:]
    assert len(after["cut"]) == 69
    for path in out.rglob("*tfevents*"):
        events = list(EventFileLoader(str(path)).Load())
        assert events[0].file_version == "brain.Event:2"
    assert (out / "good" / NAME).read_bytes() == (damaged / "good" / NAME).read_bytes()


def test_what_a_repair_says(damaged, tmp_path):
    write(damaged / "noise" / NAME, b"not a single event")
    write(damaged / "good" / "config.yaml", b"lr: 0.1")
    ended = doctor(damaged, "--repair", tmp_path / "clean")
    assert ended.code == 0
    said = ended.out[ended.out.index("Copied to") :]
    assert f"Copied to {tmp_path}/clean: 3 event files with 271 records" in said
    assert "1 byte for byte the same, 2 without damaged or unfinished parts" in said
    assert "dropped 97 B: 1 bad-header, 1 bad-payload, 1 truncated" in said
    assert "and 1 other file" in said
    assert "nothing in it is an event" in " ".join(said.split())
    assert said.splitlines()[-1].startswith("The copy was read again: healthy")
    document = json.loads(doctor(damaged, "--json", "--repair", tmp_path / "again").out)
    assert document["verdict"] == "damaged"
    repair = document["repair"]
    assert (repair["complete"], repair["records"], repair["dropped_bytes"]) == (True, 271, 97)
    assert repair["left_out"]["items"] == [
        {"path": f"{damaged}/noise/{NAME}", "reason": "nothing in it is an event", "missed": False}
    ]
    assert repair["check"]["confirmed"]
    assert repair["check"]["verdict"] == "healthy"


def test_a_repaired_copy_is_healthy_and_repairs_to_itself(damaged, tmp_path):
    assert doctor(damaged, "--repair", tmp_path / "once").code == 0
    assert doctor(tmp_path / "once", "--repair", tmp_path / "twice").code == 0
    for path in (tmp_path / "once").rglob("*tfevents*"):
        assert (tmp_path / "twice" / path.relative_to(tmp_path / "once")).read_bytes() == path.read_bytes()


def test_a_full_disk_is_said_and_leaves_whole_files(runs, tmp_path):
    write(runs / "a" / NAME, scalars(range(10)))
    write(runs / "b" / NAME, scalars(range(5000)))
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)); {ABOARD[2]}"
    ended = subprocess.run(
        [sys.executable, "-c", limited, "doctor", runs, "--repair", tmp_path / "clean"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 1
    assert re.search(r"error: cannot write '.*/clean/b/.*': File too large", ended.stderr)
    assert "what was copied before is whole and stays" in ended.stderr
    assert [path for path in (tmp_path / "clean").rglob("*") if path.is_file()] == [tmp_path / "clean" / "a" / NAME]
    assert (tmp_path / "clean" / "a" / NAME).read_bytes() == (runs / "a" / NAME).read_bytes()


def started(*arguments):
    # Where tests run in the background, their children are born with SIGINT ignored.
    interruptible = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {ABOARD[2]}"
    command = [sys.executable, "-c", interruptible, "doctor", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def open_files(pid):
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(link.readlink())
    return found


def test_ctrl_c_ends_the_reading_of_a_huge_file(runs):
    # All of it is searched for a record, which takes minutes.
    os.truncate(write(runs / NAME, version()), 16 << 30)
    process = started(runs)
    until(lambda: any(Path(link).name == NAME for link in open_files(process.pid)))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == "interrupted\n"


def test_ctrl_c_leaves_whole_files(runs, tmp_path):
    content = scalars(range(20))
    for number in range(1500):
        folder = runs / f"{number:04}"
        folder.mkdir(parents=True)
        (folder / NAME).write_bytes(content)
    out = tmp_path / "clean"
    process = started(runs, "--repair", out)
    until((out / "0000" / NAME).exists)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in said
    assert "are whole, but not all are there" in said
    assert "Traceback" not in said
    files = [path for path in out.rglob("*") if path.is_file()]
    assert 0 < len(files) < 1500
    assert {path.name for path in files} == {NAME}
    assert {path.read_bytes() for path in files} == {content}


def test_a_live_run_is_healthy_and_can_be_copied(runs, tmp_path):
    with SummaryWriter(runs / "live") as writer:
        writer.add_scalar("loss", 1, 1)
        writer.flush()
        (path,) = (runs / "live").iterdir()
        with Path(path).open("ab") as file:
            file.write(scalar(step=2)[:20])
            file.flush()
            ended = doctor(runs, "--repair", tmp_path / "clean")
    assert ended.code == 0
    assert "the last record is not whole yet" in ended.out
    assert "healthy: 1 file" in ended.out.splitlines()
    assert values_in_tensorboard(tmp_path / "clean")["live"] == [(1, 1.0)]
