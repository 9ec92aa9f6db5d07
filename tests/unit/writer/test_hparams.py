# SPDX-License-Identifier: Apache-2.0
"""`add_hparams`: into which run it writes, and both peers' orders of arguments."""

import re
import time

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidType
from support.reading import event_files, points, scalars

HPARAMS, METRICS = {"lr": 0.1, "optimizer": "adam", "nesterov": True, "skipped": None}, {"acc": 0.5, "loss": 2}


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def session(folder):
    (start,) = (p.data.session_start_info for p in points(folder) if p.tag == "_hparams_/session_start_info")
    return {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}


@pytest.mark.parametrize(
    "call",
    [
        lambda w: w.add_hparams(HPARAMS, METRICS, run_name="trial", global_step=7),
        lambda w: w.add_hparams(HPARAMS, METRICS, None, "trial", 7),
        lambda w: w.add_hparams(HPARAMS, METRICS, {"lr": [0.1, 0.2]}, "trial", 7),
        lambda w: w.add_hparams(HPARAMS, METRICS, name="trial", global_step=7),
        lambda w: w.add_hparams(HPARAMS, METRICS, "trial", 7),
        lambda w: w.add_hparams(HPARAMS, METRICS, "trial", global_step=7),
    ],
    ids=["torch by name", "torch", "torch with domains", "tensorboardX by name", "tensorboardX", "tensorboardX mixed"],
)
def test_both_orders_of_arguments(writer, tmp_path, call):
    call(writer)
    assert session(tmp_path / "trial") == {"lr": 0.1, "optimizer": "adam", "nesterov": True}
    assert scalars(tmp_path / "trial") == [("acc", 7, 0.5), ("loss", 7, 2.0)]
    assert {p.step for p in points(tmp_path / "trial")} == {7}


def test_records_are_complete_without_flush(writer, tmp_path):
    writer.add_hparams(HPARAMS, METRICS, run_name="trial")
    found = {p.tag: p.data for p in points(tmp_path / "trial")}
    assert {info.name for info in found["_hparams_/experiment"].experiment.hparam_infos} == {
        "lr",
        "optimizer",
        "nesterov",
    }
    assert {info.name.tag for info in found["_hparams_/experiment"].experiment.metric_infos} == {"acc", "loss"}
    assert found["_hparams_/session_end_info"].session_end_info.status == 1  # success


def test_without_a_name_the_run_is_the_time(writer, tmp_path):
    before = time.time()
    writer.add_hparams(HPARAMS, METRICS)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert re.fullmatch(r"\d+\.\d+", folder.name)
    assert before <= float(folder.name) <= time.time()


def test_in_place_puts_them_into_this_run(writer, tmp_path):
    writer.add_scalar("loss", 1, 1)
    writer.add_hparams(HPARAMS, METRICS, in_place=True)
    writer.add_scalar("loss", 2, 2)
    writer.close()
    assert len(event_files(tmp_path)) == 1
    assert session(tmp_path)["lr"] == 0.1
    assert ("loss", 2, 2.0) in scalars(tmp_path)


def test_many_trials_keep_no_files_open(writer, tmp_path):
    for trial in range(20):
        writer.add_hparams({"lr": trial}, {"acc": trial}, run_name=f"trial{trial}")
    assert list(writer.all_writers) == [str(tmp_path)]
    assert session(tmp_path / "trial19") == {"lr": 19}


def test_values_of_numpy_and_functions_are_kept(writer, tmp_path):
    hparams = {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True), "d": np.array([2.0]), "e": np.tanh}
    writer.add_hparams(hparams, {"m": np.float64(1)}, run_name="trial")
    assert session(tmp_path / "trial") == {"a": 0.5, "b": 3, "c": True, "d": 2, "e": "tanh"}


@pytest.mark.parametrize(("clean", "tag"), [(False, "val acc (%)"), (True, "val_acc____")])
def test_metric_tags_are_spelled_alike_in_both_places(tmp_path, clean, tag):
    with SummaryWriter(tmp_path, clean_tags=clean) as writer:
        writer.add_hparams({"lr": 1}, {"val acc (%)": 2}, run_name="trial")
    experiment = next(p.data.experiment for p in points(tmp_path / "trial") if p.tag == "_hparams_/experiment")
    assert [info.name.tag for info in experiment.metric_infos] == [tag]
    assert scalars(tmp_path / "trial") == [(tag, 0, 2.0)]


@pytest.mark.parametrize("arguments", [([], {}), ({}, []), ({}, None), ("lr", {})])
def test_dictionaries_are_needed(writer, arguments):
    with pytest.raises(TypeError, match="hparam_dict and metric_dict must be dictionaries"):
        writer.add_hparams(*arguments)


def test_a_bad_metric_is_named_and_nothing_is_written(writer, tmp_path):
    with pytest.raises(InvalidType, match=r"metric_dict\['acc'\]"):
        writer.add_hparams({"lr": 1}, {"acc": "high"}, run_name="trial")
    assert not (tmp_path / "trial").exists()
