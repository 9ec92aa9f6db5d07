# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters as aboard, tensorboardX and TensorBoard's own API write them, and whose they are."""

import math

import pytest
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.hparams import summary_v2
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboardX import SummaryWriter as PeerWriter

import aboard
from aboard import SummaryWriter
from support.raw_events import write_event_file

GIVEN = {"lr": 0.1, "layers": 3, "optimizer": "adam", "bias": True, "dropout": False, "größe": "🚀"}


def session_start(**hparams):
    """What tf.summary-based code writes: the very protos of TensorBoard."""
    return summary_v2.hparams_pb(hparams).value[0]


def test_of_aboard_in_the_same_run(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(GIVEN, {"acc": 1}, in_place=True)
    hparams = aboard.open(tmp_path).runs[0].hparams
    assert hparams == GIVEN
    assert [type(value) for value in hparams.values()] == [float, float, str, bool, bool, str]


@pytest.mark.parametrize("make", [SummaryWriter, PeerWriter], ids=["aboard", "tensorboardX"])
def test_of_a_run_below_are_those_of_the_run_above(tmp_path, make):
    """torch and tensorboardX make a run of its own for them."""
    with make(str(tmp_path / "exp")) as writer:
        writer.add_scalar("loss", 1, 1)
        writer.add_hparams(GIVEN, {"acc": 1}, name="trial")
    runs = aboard.open(tmp_path).runs
    assert runs["exp/trial"].hparams == GIVEN
    assert runs["exp"].hparams == GIVEN
    with make(str(tmp_path / "exp")) as writer:
        writer.add_hparams({"lr": 7}, {"acc": 1}, name="another")
    runs = aboard.open(tmp_path).runs
    assert runs["exp/another"].hparams == {"lr": 7}
    assert runs["exp"].hparams == {}  # which of the two is unknown


def test_of_tensorboards_api_above_train_and_validation(tmp_path):
    """As the Keras callback has it."""
    write_event_file(tmp_path / "k", (0, 1.0, session_start(lr=0.5, units=16, name="x", flag=True)))
    for stage in ("train", "validation"):
        with SummaryWriter(tmp_path / "k" / stage) as writer:
            writer.add_scalar("loss", 1, 1)
    expected = {"lr": 0.5, "units": 16, "name": "x", "flag": True}
    found = {run.name: run.hparams for run in aboard.open(tmp_path).runs}
    assert found == dict.fromkeys(("k", "k/train", "k/validation"), expected)


def test_union_of_what_was_logged_several_times(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "layers": 3}, {}, in_place=True)
        writer.add_hparams({"lr": 0.2, "seed": 4}, {}, in_place=True)
    assert aboard.open(tmp_path).runs[0].hparams == {"lr": 0.2, "layers": 3, "seed": 4}
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.3}, {}, in_place=True)
    assert aboard.open(tmp_path).runs[0].hparams["lr"] == 0.3


def test_lists_structures_and_nothing(tmp_path):
    data = HParamsPluginData()
    hparams = data.session_start_info.hparams
    hparams["list"].list_value.extend([1, "two", [True]])
    hparams["struct"].struct_value.update({"a": {"b": 2}})
    hparams["null"].null_value = 0
    hparams["unset"].Clear()
    hparams["nan"].number_value = math.nan
    value = summary_pb2.Summary.Value(tag="_hparams_/session_start_info")
    value.metadata.plugin_data.plugin_name = "hparams"
    value.metadata.plugin_data.content = data.SerializeToString()
    write_event_file(tmp_path, (0, 1.0, value))
    found = aboard.open(tmp_path).runs[0].hparams
    assert str(found.pop("nan")) == "nan"
    assert found == {"list": [1, "two", [True]], "struct": {"a": {"b": 2}}, "null": None, "unset": None}


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xff", b"\x1a\x05\x0a\x7fabc", b"\x1a\x02\x0a\x00", b"\x1a\x03\x08\x01\x10"]
)
def test_damaged_messages_have_none(tmp_path, content):
    value = summary_pb2.Summary.Value(tag="_hparams_/session_start_info")
    value.metadata.plugin_data.plugin_name = "hparams"
    value.metadata.plugin_data.content = content
    write_event_file(tmp_path, (0, 1.0, value))
    assert aboard.open(tmp_path).runs[0].hparams in ({}, {"": None})


def test_very_deep_lists_end(tmp_path):
    data = HParamsPluginData()
    at = data.session_start_info.hparams["deep"]
    for _ in range(90):
        at = at.list_value.values.add()
    at.number_value = 1
    value = summary_pb2.Summary.Value(tag="_hparams_/session_start_info")
    value.metadata.plugin_data.plugin_name = "hparams"
    value.metadata.plugin_data.content = data.SerializeToString()
    write_event_file(tmp_path, (0, 1.0, value))
    assert isinstance(aboard.open(tmp_path).runs[0].hparams["deep"], list)


def test_come_with_a_refresh(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1, 1)
    writer.flush()
    opened = aboard.open(tmp_path)
    assert opened.runs[0].hparams == {}
    writer.add_hparams({"lr": 1}, {}, in_place=True)
    writer.close()
    opened.refresh()
    assert opened.runs[0].hparams == {"lr": 1}
    opened.runs[0].hparams["lr"] = 2
    assert opened.runs[0].hparams == {"lr": 1}  # a dict of its own each time
