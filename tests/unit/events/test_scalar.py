# SPDX-License-Identifier: Apache-2.0
"""Scalars in both forms, against TensorBoard's protos and tensorboardX."""

import math

import numpy as np
import tensorboardX.summary as peer
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_SCALAR, Summary
from tensorboard.util import tensor_util

from aboard.events.tensor import scalar, scalar_tensor
from support.cases import all_cases

VALUES = [0.0, -0.0, 1.5, -3.25e-12, 1e30, 1e300, math.inf, -math.inf, 7]


@all_cases("value", VALUES)
@all_cases("texts", [("", ""), ("name", ""), ("", "what it *is*"), ("größe", "ü")])
def test_equals_tensorboardx(value, texts):
    ours = Summary.FromString(scalar("a/b", value, display_name=texts[0], description=texts[1]))
    theirs = peer.scalar("a/b", value, display_name=texts[0], summary_description=texts[1])
    if any(texts):  # without plugin and class, TensorBoard's fast loader would not show the texts
        metadata = ours.value[0].metadata
        assert (metadata.plugin_data.plugin_name, metadata.data_class) == ("scalars", DATA_CLASS_SCALAR)
        metadata.ClearField("plugin_data")
        metadata.ClearField("data_class")
    assert ours == Summary.FromString(theirs.SerializeToString())


def test_nan_stays_nan():
    (value,) = Summary.FromString(scalar("t", math.nan)).value
    assert math.isnan(value.simple_value)


def test_metadata_only_when_there_is_a_text():
    (value,) = Summary.FromString(scalar("t", 1)).value
    assert not value.HasField("metadata")


@all_cases("value", VALUES)
@all_cases("double", [False, True])
def test_tensor_form(value, double):
    (point,) = Summary.FromString(scalar_tensor("t", value, double=double, display_name="n", description="d")).value
    array = tensor_util.make_ndarray(point.tensor)
    assert array.shape == ()
    assert array.dtype == (np.float64 if double else np.float32)
    with np.errstate(over="ignore"):
        assert array == np.asarray(value, dtype=array.dtype)
    assert point.metadata.plugin_data.plugin_name == "scalars"
    assert (point.metadata.display_name, point.metadata.summary_description) == ("n", "d")


def test_tensorboard_reads_both_forms_alike():
    (old,) = Summary.FromString(scalar("t", 2.5)).value
    (new,) = Summary.FromString(scalar_tensor("t", 2.5, double=False)).value
    migrated = data_compat.migrate_value(old)
    assert migrated.metadata.plugin_data.plugin_name == new.metadata.plugin_data.plugin_name
    assert tensor_util.make_ndarray(migrated.tensor) == tensor_util.make_ndarray(new.tensor)


def test_lone_surrogates_do_not_spoil_the_message():
    (value,) = Summary.FromString(scalar("t", 1, display_name="a\ud800b")).value
    assert value.metadata.display_name == "a?b"
