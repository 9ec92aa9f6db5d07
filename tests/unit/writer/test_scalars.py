# SPDX-License-Identifier: Apache-2.0
"""`add_scalar` and `add_scalars`: which run and tag a number ends up in, and what is said about odd ones."""

import logging
import time

import numpy as np
import pytest

from aboard import SummaryWriter
from support.reading import event_files, points, raw_values, scalars


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


@pytest.mark.parametrize(
    "value",
    [2, 2.0, True + 1, np.float32(2), np.int8(2), np.array(2), np.array([[2.0]]), [2], (2.0,), np.array([2], object)],
)
def test_whatever_is_one_number(writer, tmp_path, value):
    writer.add_scalar("t", value, 1)
    writer.close()
    assert scalars(tmp_path) == [("t", 1, 2.0)]


@pytest.mark.parametrize(("step", "written"), [(None, 0), (-5, -5), (2**63 - 1, 2**63 - 1), (7.9, 7), (True, 1)])
def test_steps(writer, tmp_path, step, written):
    """Fractions are cut off, as in both peers."""
    writer.add_scalar("fast", 1.0, step)
    writer.add_text("slow", "x", step)
    writer.close()
    assert {step for step, _ in raw_values(tmp_path)} == {written}


def test_wall_time(writer, tmp_path):
    before = time.time()
    writer.add_scalar("now", 1.0)
    writer.add_scalar("given", 1.0, walltime=np.float64(12.5))
    writer.close()
    given, now = points(tmp_path)
    assert given.wall_time == 12.5
    assert before <= now.wall_time <= time.time()


def test_titles_by_name_and_by_position(writer, tmp_path):
    writer.add_scalar("a", 1, 1, display_name="Name", summary_description="Words")
    writer.add_scalar("b", 1, 1, None, "Name", "Words")
    writer.add_scalar("c", 1, 1, new_style=True, display_name="Name", summary_description="Words")
    writer.close()
    assert {(p.display_name, p.description) for p in points(tmp_path)} == {("Name", "Words")}


def test_forms(writer, tmp_path):
    writer.add_scalar("plain", 0.1)
    writer.add_scalar("new", 0.1, new_style=True)
    writer.add_scalar("double", 0.1, double_precision=True)
    writer.close()
    plain, new, double = (value for _, value in raw_values(tmp_path))
    assert plain.simple_value == np.float32(0.1)
    assert list(new.tensor.float_val) == [np.float32(0.1)]
    assert list(double.tensor.double_val) == [0.1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_odd_numbers_are_written_and_mentioned_once(writer, tmp_path, caplog, value):
    with caplog.at_level(logging.WARNING, "aboard.writer"):
        for step in range(3):
            writer.add_scalar("loss", value, step)
    writer.close()
    assert len(scalars(tmp_path)) == 3
    (record,) = caplog.records
    assert "'loss'" in record.message
    assert ("double_precision=True" in record.message) == np.isfinite(value)


def runs(folder):
    return {
        path.parent.relative_to(folder).as_posix(): sorted(scalars(path.parent))
        for path in event_files(folder)
        if scalars(path.parent)
    }


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("nested", {"loss/both/train": [("loss/both", 3, 1.0)], "loss/both/val": [("loss/both", 3, 2.0)]}),
        ("flat", {"loss_both_train": [("loss/both", 3, 1.0)], "loss_both_val": [("loss/both", 3, 2.0)]}),
        ("none", {".": [("loss/both/train", 3, 1.0), ("loss/both/val", 3, 2.0)]}),
    ],
)
def test_layouts_of_several_series(writer, tmp_path, layout, expected):
    writer.add_scalars("loss/both", {"train": 1, "val": 2}, 3, runs=layout)
    writer.close()
    assert runs(tmp_path) == expected


def test_nested_is_the_default_and_files_are_reused(writer, tmp_path):
    for step in range(3):
        writer.add_scalars("loss", {"a": step}, step, walltime=5.0)
    writer.close()
    assert runs(tmp_path) == {"loss/a": [("loss", step, step) for step in range(3)]}
    assert len(event_files(tmp_path / "loss")) == 1


def test_series_without_a_wall_time_share_one(writer, tmp_path):
    writer.add_scalars("loss", {"a": 1, "b": 2}, 1)
    writer.close()
    assert len({p.wall_time for p in points(tmp_path)}) == 1


def test_flush_reaches_the_series(writer, tmp_path):
    writer.add_scalars("loss", {"a": 1}, 1)
    writer.flush()
    assert scalars(tmp_path / "loss" / "a") == [("loss", 1, 1.0)]


def test_tags_and_keys_are_kept_verbatim_and_their_folders_stay_below_the_logdir(writer, tmp_path):
    writer.add_scalars("/my loss", {"/a b": 1}, 1)
    writer.close()
    assert runs(tmp_path) == {"my loss/a b": [("/my loss", 1, 1.0)]}


def test_three_runs_of_fifty_thousand_points_are_all_there(tmp_path):
    """The seed's own example of much data; how long logging takes is a benchmark's matter."""
    for name in "abc":
        with SummaryWriter(tmp_path / name) as writer:
            for step in range(50_000):
                writer.add_scalar("loss", step, step)
    for name in "abc":
        (path,) = event_files(tmp_path / name)
        assert path.stat().st_size > 50_000 * 30
    assert [step for _, step, _ in scalars(tmp_path / "c")] == list(range(50_000))
