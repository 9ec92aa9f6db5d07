# SPDX-License-Identifier: Apache-2.0
"""Precision-recall curves equal those of tensorboardX."""

import numpy as np
import pytest
import tensorboardX.summary as peer
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.pr_curve import metadata
from tensorboard.util import tensor_util

from aboard.errors import InvalidValue
from aboard.events.pr_curve import pr_curve, pr_curve_raw
from support.cases import all_cases

RANDOM = np.random.default_rng(0)


def assert_same(ours, theirs):
    (a,) = Summary.FromString(ours).value
    (b,) = Summary.FromString(theirs.SerializeToString()).value
    assert (a.tag, a.metadata) == (b.tag, b.metadata)
    np.testing.assert_allclose(
        tensor_util.make_ndarray(a.tensor), tensor_util.make_ndarray(b.tensor), rtol=1e-6, atol=1e-6
    )


@all_cases("dtype", [bool, np.int64, np.float32])
@all_cases("thresholds", [1, 2, 10, 127, 128, 1000])
@all_cases("weights", [None, 2.0, "each"])
def test_equals_tensorboardx(dtype, thresholds, weights):
    labels, predictions = RANDOM.integers(0, 2, 200).astype(dtype), RANDOM.random(200)
    if weights == "each":
        weights = RANDOM.random(200)
    ours = pr_curve("t", labels, predictions, num_thresholds=thresholds, weights=weights)
    assert_same(ours, peer.pr_curve("t", labels, predictions, thresholds, weights))


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=30), st.integers(1, 127))
def test_any_predictions_equal_tensorboardx(pairs, thresholds):
    labels, predictions = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    ours = pr_curve("t", labels, predictions, num_thresholds=thresholds)
    assert_same(ours, peer.pr_curve("t", labels, predictions, thresholds))


def test_shapes_are_flattened():
    labels, predictions = RANDOM.integers(0, 2, (4, 5)), RANDOM.random((4, 5))
    assert pr_curve("t", labels, predictions) == pr_curve("t", labels.ravel(), predictions.ravel())


def test_tensorboard_reads_the_metadata():
    (value,) = Summary.FromString(pr_curve("t", np.array([1]), np.array([0.5]))).value
    assert value.metadata.plugin_data.plugin_name == metadata.PLUGIN_NAME
    assert metadata.parse_plugin_metadata(value.metadata.plugin_data.content).num_thresholds == 127


@pytest.mark.parametrize("length", [1, 5, 127])
def test_raw_equals_tensorboardx(length):
    rows = [RANDOM.random(length) for _ in range(6)]
    assert_same(
        pr_curve_raw("t", *rows, num_thresholds=length if length > 1 else 2),
        peer.pr_curve_raw("t", *rows, num_thresholds=length if length > 1 else 2),
    )
    assert_same(pr_curve_raw("t", *map(list, rows)), peer.pr_curve_raw("t", *rows))


def test_raw_of_different_lengths():
    with pytest.raises(InvalidValue, match=r"tp 2, fp 2, tn 2, fn 2, precision 2, recall 3; all six must be equal"):
        pr_curve_raw("t", [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2, 3])
    with pytest.raises(InvalidValue, match="at least 1"):
        pr_curve_raw("t", [], [], [], [], [], [])


@pytest.mark.parametrize("bad", [1.5, -0.1, np.nan, np.inf])
def test_predictions_outside_0_to_1(bad):
    with pytest.raises(InvalidValue, match=rf"predictions contains {bad}; allowed are numbers from 0 to 1"):
        pr_curve("t", np.array([0, 1]), np.array([0.5, bad]))


def test_labels_outside_0_to_1():
    with pytest.raises(InvalidValue, match=r"labels contains 2\.0; allowed are numbers from 0 to 1"):
        pr_curve("t", np.array([0, 2]), np.array([0.5, 0.5]))


def test_bad_lengths():
    with pytest.raises(InvalidValue, match="labels has 2 elements but predictions has 3; both must be equal"):
        pr_curve("t", np.array([0, 1]), np.array([0.5, 0.5, 0.5]))
    with pytest.raises(InvalidValue, match=r"labels is empty \(shape \(0,\)\); at least one"):
        pr_curve("t", np.array([]), np.array([]))
    with pytest.raises(InvalidValue, match="weights has 3 elements for 2 predictions; allowed are one for each"):
        pr_curve("t", np.array([0, 1]), np.array([0.5, 0.5]), weights=[1, 2, 3])


def test_too_few_thresholds():
    with pytest.raises(InvalidValue, match="num_thresholds is 0; allowed are integers from 1"):
        pr_curve("t", np.array([1]), np.array([0.5]), num_thresholds=0)
