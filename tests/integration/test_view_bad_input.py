# SPDX-License-Identifier: Apache-2.0
"""Folders as nobody would wish them, opened with `aboard view`: it goes on, shows what is whole and tells the rest."""

from __future__ import annotations

import json
import math
import os
import random
import struct
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from aboard import SummaryWriter
from aboard._native import frame_record, masked_crc32c
from support.board_client import SESSION_GROUPS
from support.commands import aboard
from support.event_bytes import scalar_value, summary_record, write_event_file
from support.large_boards import memory_of
from support.privileges import as_ordinary_user, folder_of_an_ordinary_user
from support.viewing import View, eventually, viewing

POINTS = [summary_record([scalar_value(b"loss", step)], step, 1000.0 + step) for step in range(20)]
NAMES = [
    "with space", "a/b/c", "<script>alert(1)</script>", "'single' \"double\"", "100% & more?#x=1;y", "émoji 🚀👩‍👩‍👧",
    "עברית \u202ertl", "back\\slash", "new\nline", "tab\there", "\x01\x1b[31mred\x7f", "\u2028", "{braces}",
    "%2e%2e%2f", "x" * 240,
]  # fmt: skip


def cut_to_file_name(name: str) -> str:
    return name.replace("/", "_").encode()[:240].decode("utf-8", "ignore")


@pytest.fixture
def good(tmp_path) -> Path:
    write_event_file(tmp_path / "good", POINTS)
    return tmp_path


def check_is_well(board: View) -> None:
    """The good run is whole, and every list of every dashboard is answered."""
    assert len(board.scalars("good")) == 20
    for plugin in ("scalars", "timeseries", "images", "audio", "histograms", "distributions", "text", "mesh"):
        board.json(f"data/plugin/{plugin}/tags")
    for path in ("data/runs", "data/plugins_listing", "data/plugin/graphs/info", "data/plugin/custom_scalars/layout"):
        board.json(path)


def test_an_empty_folder_is_told_and_filled_later(tmp_path):
    (tmp_path / "code/models").mkdir(parents=True)
    (tmp_path / "code/train.py").touch()
    with viewing(tmp_path, as_text=True) as board:
        board.wait_until_said(f"No event files in {tmp_path} yet: 2 folders, 1 other file. Watching for new ones.")
        assert board.json("data/runs") == []
        write_event_file(tmp_path / "good", POINTS)
        eventually(lambda: board.json("data/runs") == ["good"] and len(board.scalars("good")) == 20)
        check_is_well(board)
        board.end()


@pytest.mark.parametrize("name", ["nowhere", "good/nowhere", "good/events.out.tfevents.1.host/x"])
def test_no_such_folder(good, monkeypatch, name):
    monkeypatch.chdir(good)
    result = aboard("view", name)
    assert result.code == 1
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err


@pytest.mark.parametrize("closed", ["folder", "file", "above"])
def test_a_root_that_must_not_be_read(closed):
    with folder_of_an_ordinary_user() as good:
        file = write_event_file(good / "good", POINTS)
        path = {"folder": good, "file": file, "above": good / "good"}[closed]
        (good if closed == "above" else path).chmod(0)
        result = aboard("view", path)
        good.chmod(0o700)
        file.chmod(0o600)
    assert result.code == 1
    assert f"cannot read '{path}': Permission denied" in result.err
    assert "Traceback" not in result.err


def test_folders_and_files_that_must_not_be_read(good):
    write_event_file(good / "secret", POINTS)
    closed = write_event_file(good / "closed", POINTS)
    closed.chmod(0)
    (good / "secret").chmod(0)
    try:
        with viewing(good, as_text=True, interpreter=True, preexec_fn=as_ordinary_user) as board:
            progress = board.wait_until_read()
            assert progress["unreadable_files"] == 1
            check_is_well(board)
            board.wait_until_said("1 folder cannot be read")
            board.wait_until_said("1 file cannot be read")
            closed.chmod(0o600)
            eventually(lambda: len(board.scalars("closed")) == 20)
            eventually(lambda: board.json("api/v1/progress")["unreadable_files"] == 0)
            said = board.end()
    finally:
        (good / "secret").chmod(0o700)
    assert f"1 folder cannot be read, such as {good / 'secret'}: Permission denied" in said
    assert f"1 file cannot be read, such as {closed}: Permission denied" in said


def length_field(length: int, *, right_checksum: bool) -> bytes:
    field = struct.pack("<Q", length)
    return field + struct.pack("<I", masked_crc32c(field) ^ (0 if right_checksum else 1)) + b"x" * 100


DAMAGED = {
    "nothing": b"",
    "random": random.Random(3).randbytes(300_000),
    "text": b"this is a log file\n" * 1000,
    "zeros": bytes(100_000),
    "4 GB": length_field(2**32 - 1, right_checksum=True),
    "4 GB, damaged": length_field(2**32 - 1, right_checksum=False) + b"".join(POINTS),
    "16 EB": length_field(2**64 - 1, right_checksum=True),
    "bad event": frame_record(b"\xff" * 50) + b"".join(POINTS),
    "bad summary": frame_record(b"\x09" + bytes(8) + b"\x2a\x7f\x0a") + b"".join(POINTS),
    "half a record": POINTS[0][:-3],
}


def test_files_that_are_not_what_they_claim(good):
    for name, content in DAMAGED.items():
        (good / name).mkdir()
        (good / name / "events.out.tfevents.1.host").write_bytes(content)
    with viewing(good, as_text=True) as board:
        progress = board.wait_until_read()
        assert progress["runs_read"] == len(DAMAGED) + 1
        assert progress["damaged_files"] > 0
        check_is_well(board)
        for name in ("4 GB, damaged", "bad event", "bad summary"):
            assert len(board.scalars(name)) == 20, "what is behind the damage is shown"
        assert memory_of(board) < 500 << 20
        board.wait_until_said("damaged parts, such as")
        assert "aboard doctor" in board.end()


def test_links_in_circles(good):
    (good / "again").symlink_to(good)
    (good / "good" / "up").symlink_to("..")
    (good / "self").symlink_to("self")
    (good / "nowhere").symlink_to(good / "gone")
    os.mkfifo(good / "good" / "events.out.tfevents.9.pipe")
    with viewing(good) as board:
        board.wait_until_read()
        check_is_well(board)
        assert "good" in board.json("data/runs")
        assert len(board.json("data/runs")) < 10


def test_names_of_any_kind(tmp_path):
    runs = [cut_to_file_name(name) for name in NAMES]
    for run in runs:
        write_event_file(tmp_path / run, [summary_record([scalar_value(name.encode(), 1.0) for name in NAMES])])
    no_text = os.fsencode(tmp_path) + b"/caf\xe9"
    write_event_file(Path(os.fsdecode(no_text)), [summary_record([scalar_value(b"tag\xff\xfe", 1.0)])])
    with viewing(tmp_path, "--template", "{run}") as board:
        board.wait_until_read()
        assert set(board.json("data/runs")) == {*runs, "caf\udce9"}
        tags = board.json("data/plugin/scalars/tags")
        assert set(tags["caf\udce9"]) == {"tag\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"}
        for run in runs:
            assert set(tags[run]) == set(NAMES)
            assert [value for _, _, value in board.scalars(run, NAMES[-1])] == [1.0]
        for tag in NAMES:
            wanted = quote(json.dumps([{"plugin": "scalars", "tag": tag}]))
            (answer,) = board.json(f"data/plugin/timeseries/timeSeries?requests={wanted}")
            assert set(answer["runToSeries"]) == set(runs), tag


def test_a_root_whose_name_is_no_text(tmp_path):
    root = os.fsencode(tmp_path) + b"/caf\xe9 <b>"
    write_event_file(Path(os.fsdecode(root)), POINTS)
    with viewing(os.fsdecode(root), as_text=True) as board:
        board.wait_until_read()
        assert len(board.scalars(".")) == 20
        board.json("data/environment")
        board.end()


def test_numbers_that_are_none_everywhere(tmp_path):
    """All JSON is valid for a browser, which knows neither NaN nor infinity."""
    odd = [math.nan, math.inf, -math.inf]
    with SummaryWriter(tmp_path / "odd") as writer:
        writer.add_hparams({"lr": math.nan, "decay": math.inf}, {"loss": math.nan}, in_place=True)
        for step, value in enumerate(odd):
            writer.add_scalar("loss", value, step)
            writer.add_histogram("weights", [value, 1.0, value], step)
            writer.add_histogram_raw("raw", value, value, 2, value, value, [value, 1.0], [1, 1], step)
            counts = [1.0, 2.0]  # which TensorBoard makes whole numbers of
            writer.add_pr_curve_raw(
                "pr", counts, counts, counts, counts, [value, 1.0], [1.0, value], global_step=step, num_thresholds=2
            )
            writer.add_mesh("mesh", [[[value, 0.0, 1.0]]], global_step=step)
    write_event_file(
        tmp_path / "times",
        [summary_record([scalar_value(b"loss", 1.0)], step, value) for step, value in enumerate(odd)],
    )
    with viewing(tmp_path) as board:
        board.wait_until_read()

        def get(path: str, **query: object):
            body = board.fetch(f"data/{path}?{urlencode(query)}")
            return json.loads(body, parse_constant=lambda name: pytest.fail(f"{path} sends {name}"))

        for run in ("odd", "times"):
            points = get("plugin/scalars/scalars", run=run, tag="loss")
            words = {part for point in points for part in point if isinstance(part, str)}
            assert words == {"NaN", "Infinity", "-Infinity"}
        for plugin in ("scalars", "images", "histograms", "text", "pr_curves", "mesh", "timeseries"):
            get(f"plugin/{plugin}/tags")
        for tag in ("weights", "raw"):
            get("plugin/histograms/histograms", run="odd", tag=tag)
            get("plugin/distributions/distributions", run="odd", tag=tag)
            wanted = [{"plugin": "histograms", "tag": tag, "run": "odd"}, {"plugin": "scalars", "tag": "loss"}]
            get("plugin/timeseries/timeSeries", requests=json.dumps(wanted))
        get("plugin/pr_curves/pr_curves", run="odd", tag="pr")
        get("plugin/mesh/meshes", run="odd", tag="mesh", sample=0)
        get("plugin/custom_scalars/scalars", run="odd", tag=".*")
        get("runs")
        groups = board.post("data/plugin/hparams/session_groups", json.dumps(SESSION_GROUPS).encode())
        json.loads(groups, parse_constant=lambda name: pytest.fail(f"hparams sends {name}"))
        assert board.json("api/v1/progress")["complete"]
