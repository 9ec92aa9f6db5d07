# SPDX-License-Identifier: Apache-2.0
"""`aboard.open`: runs and curves for people who read from Python."""

import os
import pickle
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import SummaryWriter
from aboard.errors import AboardError, InvalidType, InvalidValue, StorageUnavailable, UnknownName
from support.privileges import folder_of_an_ordinary_user
from support.raw_events import write_scalars


def write(folder, values, tag="loss", first=0):
    with SummaryWriter(folder) as writer:
        for step, value in enumerate(values, first):
            writer.add_scalar(tag, value, step)


@pytest.fixture
def logs(tmp_path):
    write(tmp_path / "logs" / "b", [1.0, 0.5, 0.25])
    write(tmp_path / "logs" / "a" / "train", [float("nan"), 3, float("inf"), -1], tag="acc")
    return tmp_path / "logs"


def event_file(folder: Path) -> Path:
    (path,) = folder.glob("*tfevents*")
    return path


def test_runs_by_name_and_by_position(logs):
    opened = aboard.open(logs)
    runs = opened.runs
    assert [run.name for run in runs] == ["a/train", "b"] == runs.keys()
    assert len(runs) == 2
    assert runs[0] is runs["a/train"] is runs.values()[0] is runs.get("a/train")
    assert runs[-1] is runs["b"]
    assert runs[:1] == [runs[0]]
    assert dict(runs) == dict(runs.items()) == {"a/train": runs[0], "b": runs[1]}
    assert "b" in runs
    assert runs[0] in runs
    assert "nowhere" not in runs
    assert runs.get("nowhere") is None
    assert runs["b"].folder == logs / "b"
    assert repr(runs) == "<2 runs: 'a/train', 'b'>"
    assert repr(opened) == f"<{logs}: 2 runs>"
    assert repr(runs["b"]) == "<run 'b': 1 scalar tags, 0 hparams>"
    with pytest.raises(IndexError):
        _ = runs[2]


def test_columns_are_what_was_written(logs):
    before = aboard.open(str(logs)).runs["b"].folder.stat().st_mtime
    series = aboard.open(str(logs)).runs["b"].scalars["loss"]
    assert len(series) == 3
    assert series.steps.tolist() == [0, 1, 2]
    assert series.steps.dtype == np.int64
    assert series.values.tolist() == [1.0, 0.5, 0.25]
    assert series.values.dtype == series.wall_times.dtype == np.float64
    assert np.all(np.diff(series.wall_times) >= 0)
    assert abs(series.wall_times[-1] - before) < 3600
    assert [tuple(point) for point in series] == list(
        zip([0, 1, 2], series.wall_times.tolist(), [1.0, 0.5, 0.25], strict=True)
    )
    assert series[-1] == series.last == series[2:][0]
    assert series.first.step == 0
    assert series.min.step == 2
    assert series.max == (0, series.wall_times[0], 1.0)
    assert repr(series) == "<'loss' of 'b': 3 points, steps 0 to 2>"


def test_columns_are_not_copied_and_cannot_be_written(logs):
    run = aboard.open(logs).runs["b"]
    first, again = run.scalars["loss"], run.scalars["loss"]
    for column in ("steps", "wall_times", "values"):
        one, other = getattr(first, column), getattr(again, column)
        assert np.shares_memory(one, other)
        assert not one.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            one[0] = 1
    values = first.values
    del run, first, again
    assert values.tolist() == [1.0, 0.5, 0.25]  # the memory lives as long as somebody looks at it


def test_extremes_leave_nan_out(logs, tmp_path):
    series = aboard.open(logs).runs["a/train"].scalars["acc"]
    assert np.isnan(series.first.value)
    assert series.max.value == float("inf")
    assert series.min == (3, series.wall_times[3], -1.0)
    write(tmp_path / "nan", [float("nan")])
    only = aboard.open(tmp_path / "nan").runs["."].scalars["loss"]
    assert np.isnan(only.min.value)
    assert np.isnan(only.max.value)


def test_reduced_and_window(tmp_path):
    write(tmp_path, range(1000))
    series = aboard.open(tmp_path).runs[0].scalars["loss"]
    assert len(series.reduced(50)) <= 50
    assert series.reduced(50).last == series.last
    assert series.reduced(5000).steps.tolist() == series.steps.tolist()
    assert series.window(10, 12).steps.tolist() == [9, 10, 11, 12, 13]
    assert series.window(-(10**30), 10**30).values.tolist() == series.values.tolist()
    assert series.window(990, np.int64(2000)).reduced(3).last == series.last  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="positive numbers"):
        series.reduced(0)
    with pytest.raises(InvalidValue, match="must not be above"):
        series.window(2, 1)
    with pytest.raises(TypeError):
        series.reduced(1.5)  # pyright: ignore[reportArgumentType] (wrong on purpose)


def test_a_step_that_was_logged_twice_counts_once_as_on_a_board(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step, value in [(0, 1.0), (1, 2.0), (1, 3.0), (0, 4.0)]:
            writer.add_scalar("loss", value, step)
    series = aboard.open(tmp_path).runs[0].scalars["loss"]
    assert series.steps.tolist() == [0, 1]
    assert series.values.tolist() == [4.0, 3.0]
    assert series.all.values.tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(InvalidValue, match="go back"):
        series.all.window(0, 1)
    assert series.reduced(10).values.tolist() == [4.0, 3.0]
    assert len(series.superseded) == 0


def test_a_restarted_run_is_one_curve_and_the_rest_is_kept_aside(tmp_path):
    write(tmp_path, [0.0, 1.0, 2.0, 3.0])
    write(tmp_path, [12.0, 13.0], first=2)
    series = aboard.open(tmp_path).runs[0].scalars["loss"]
    assert series.values.tolist() == [0.0, 1.0, 12.0, 13.0]
    assert series.superseded.steps.tolist() == [2, 3]
    assert series.superseded.values.tolist() == [2.0, 3.0]
    assert series.superseded.window(3, 3).values.tolist() == [2.0, 3.0]
    assert [file.attempt for file in aboard.open(tmp_path).runs[0].files] == [0, 1]
    with pytest.raises(InvalidValue, match="a part of a series"):
        _ = series.all.superseded
    write(tmp_path, [21.0], first=1)
    twice = aboard.open(tmp_path).runs[0].scalars["loss"].superseded
    assert sorted(twice.values.tolist()) == [1.0, 2.0, 3.0, 12.0, 13.0]
    assert len(twice.reduced(3)) <= 3
    with pytest.raises(InvalidValue, match="go back"):
        twice.window(0, 1)


def test_refresh_reads_what_is_new(logs):
    opened = aboard.open(logs)
    run = opened.runs["b"]
    series = run.scalars["loss"]
    assert not opened.refresh()
    write(logs / "b", [9.0], first=3)
    write(logs / "c", [1.0])
    assert opened.refresh()
    assert opened.runs["b"] is run
    assert len(series) == 3
    assert run.scalars["loss"].values.tolist() == [1.0, 0.5, 0.25, 9.0]
    assert opened.runs.keys() == ["a/train", "b", "c"]
    shutil.rmtree(logs / "b")
    opened.refresh()
    assert opened.runs.keys() == ["a/train", "c"]
    assert series.values.tolist() == [1.0, 0.5, 0.25]


def test_several_folders_names_patterns_and_single_files(logs, monkeypatch):
    monkeypatch.chdir(logs)
    assert aboard.open("a", "b").runs.keys() == ["a/train", "b"]
    assert aboard.open("b", "a").runs.keys() == ["b", "a/train"]
    assert aboard.open("x=a", "y=b").runs.keys() == ["x/train", "y"]
    assert aboard.open({"x": "a", "y": Path("b")}).runs.keys() == ["x/train", "y"]
    assert aboard.open("*").runs.keys() == ["a/train", "b"]
    (file,) = aboard.open(event_file(logs / "b")).runs
    assert file.name == "."
    assert len(file.scalars["loss"]) == 3


def test_a_later_change_of_the_current_folder_does_no_harm(logs, monkeypatch, tmp_path):
    monkeypatch.chdir(logs)
    with SummaryWriter(logs / "b") as writer:
        writer.add_text("note", "words", 0)
    opened = aboard.open("b")
    monkeypatch.chdir(tmp_path)
    assert opened.runs[0].text["note/text_summary"][0].text == "words"
    assert not opened.refresh()


@pytest.mark.parametrize(
    ("paths", "error", "said"),
    [
        ([], InvalidValue, "no folder was named"),
        (["nowhere"], InvalidValue, "no folder 'nowhere'"),
        ([Path("nowhere")], InvalidValue, "no folder 'nowhere'"),
        ([""], InvalidValue, "empty"),
        (["ftp://bucket/runs"], InvalidValue, "not a kind of store"),
        (["x=b", "x=a"], InvalidValue, "two folders are called 'x'"),
        ([{"": "b"}], InvalidType, "not empty"),
        ([7], InvalidType, "cannot open 7 of type int"),
        ([b"b"], InvalidType, "cannot open b'b' of type bytes"),
        ([["a", "b"]], InvalidType, "of type list"),
    ],
)
def test_what_cannot_be_opened_is_said(logs, monkeypatch, paths, error, said):
    monkeypatch.chdir(logs)
    with pytest.raises(error, match=said):
        aboard.open(*paths)


def test_an_empty_folder_has_no_runs(tmp_path):
    opened = aboard.open(tmp_path)
    assert len(opened.runs) == 0
    assert repr(opened.runs) == "<0 runs: none>"
    with pytest.raises(KeyError, match="no runs here"):
        _ = opened.runs["x"]


def test_a_folder_without_permission_is_said():
    with folder_of_an_ordinary_user() as folder:
        closed = folder / "closed"
        closed.mkdir()
        for mode in (0o300, 0o400, 0o000):
            closed.chmod(mode)
            with pytest.raises(StorageUnavailable, match=r"cannot be read: Permission denied"):
                aboard.open(closed)
        write(folder / "open", [1.0])
        event_file(folder / "open").chmod(0)
        (file,) = aboard.open(folder / "open").runs[0].files
        assert file.error == "Permission denied"
        assert file.is_damaged


def test_unknown_names_are_key_errors_that_name_the_nearest(logs):
    runs = aboard.open(logs).runs
    with pytest.raises(KeyError) as unknown:
        _ = runs["a/trian"]
    assert isinstance(unknown.value, UnknownName)
    assert isinstance(unknown.value, AboardError)
    assert str(unknown.value) == "there is no run 'a/trian'\n  hint: did you mean 'a/train'?"
    with pytest.raises(UnknownName, match=r"has no scalar tag 'Los'\n.*did you mean 'loss'"):
        _ = runs["b"].scalars["Los"]
    with pytest.raises(UnknownName, match="there are 'loss'"):
        _ = runs["b"].scalars["zzz"]
    with pytest.raises(UnknownName, match="no image tags here"):
        _ = runs["b"].images["loss"]
    assert "zzz" not in runs["b"].scalars
    assert runs["b"].scalars.get("zzz") is None
    assert runs["b"].scalars.get("zzz", 3) == 3
    assert list(runs["b"].scalars) == ["loss"]
    assert repr(runs["b"].scalars) == "<scalar tags of 'b': 'loss'>"


def test_an_error_among_very_many_names_is_quick_and_short(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for number in range(20_000):
            writer.add_scalar(f"tag/{number}", 1, 1)
    scalars = aboard.open(tmp_path).runs[0].scalars
    with pytest.raises(UnknownName) as unknown:
        _ = scalars["tag/19999x"]
    assert len(str(unknown.value)) < 300
    assert len(repr(scalars)) < 300


def test_damage_costs_its_record_and_is_visible(logs):
    path = event_file(logs / "b")
    data = bytearray(path.read_bytes())
    data[-6] ^= 0xFF  # inside the last record
    path.write_bytes(data)
    run = aboard.open(logs).runs["b"]
    assert run.scalars["loss"].values.tolist() == [1.0, 0.5]
    (file,) = run.files
    assert file.name == path.name
    assert (file.bad_records, file.records, file.size) == (1, 3, len(data))
    assert file.first_damage in range(1, len(data))
    assert file.is_damaged
    assert run.bad_records == 1
    (whole,) = aboard.open(logs).runs["a/train"].files
    assert not whole.is_damaged
    assert whole.first_damage is None


@pytest.mark.parametrize("content", [b"", b"\x00" * 1000, os.urandom(5000), b"\xff" * 12])
def test_a_file_of_anything_is_a_run_without_tags(tmp_path, content):
    (tmp_path / "events.out.tfevents.1.x").write_bytes(content)
    (run,) = aboard.open(tmp_path).runs
    assert not run.scalars
    assert not run.tensors
    assert run.files[0].size == len(content)
    assert run.to_pandas().shape == (0, 5)


def test_runs_stand_in_the_order_of_their_paths(tmp_path):
    for name in ("b", "a-b/c", "a/c", "a", ".", "a/b/d"):
        write(tmp_path / name, [1.0])
    opened = aboard.open(tmp_path)
    assert opened.runs.keys() == [".", "a", "a/b/d", "a/c", "a-b/c", "b"]
    write(tmp_path / "a" / "a", [1.0])
    opened.refresh()
    assert opened.runs.keys() == [".", "a", "a/a", "a/b/d", "a/c", "a-b/c", "b"]


def open_descriptors():
    return Counter(path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())


def test_no_event_file_stays_open_and_closing_leaves_nothing(logs):
    before = open_descriptors()
    opened = aboard.open(logs)
    opened.refresh()
    assert not [path for path in open_descriptors() if path.is_relative_to(logs)]
    opened.close()
    # Other tests leave descriptors to the garbage collection: fewer than before is no fault of this one.
    assert not open_descriptors() - before


def test_closing_gives_up_the_runs_but_not_the_columns(logs):
    with aboard.open(logs) as opened:
        values = opened.runs["b"].scalars["loss"].values
    assert values.tolist() == [1.0, 0.5, 0.25]
    assert repr(opened) == f"<{logs}: closed>"
    with pytest.raises(ValueError, match="can no longer be read"):
        _ = opened.runs
    with pytest.raises(InvalidValue, match="open it again"):
        opened.refresh()
    opened.close()


def test_steps_of_64_bits(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("far", 1.0, 2**53 + 1)
        writer.add_scalar("far", 2.0, 2**63 - 1)
    series = aboard.open(tmp_path).runs[0].scalars["far"]
    assert series.steps.tolist() == [2**53 + 1, 2**63 - 1]
    assert series.last.step == 2**63 - 1
    assert len(series.window(2**63 - 1, 2**70)) == 2


def test_names_of_any_kind(tmp_path):
    tags = ['a,b"c"\n', "שלום/עולם", "🚀", "<b>", "", " "]
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/no utf-8 \xff"))
    write_scalars(folder, [(tag, 1, 2.0, 3.0) for tag in tags])
    (run,) = aboard.open(tmp_path).runs
    assert os.fsencode(run.name) == b"no utf-8 \xff"
    assert list(run.scalars) == tags
    assert [series.last for series in run.scalars.values()] == [(1, 2.0, 3.0)] * len(tags)
    assert repr(aboard.open(tmp_path).runs).isprintable()


def test_points_can_be_pickled(logs):
    point = aboard.open(logs).runs["b"].scalars["loss"].last
    assert pickle.loads(pickle.dumps(point)) == point
