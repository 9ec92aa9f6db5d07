# SPDX-License-Identifier: Apache-2.0
"""Histograms equal tensorboardX where that is defined, and the native core where it is not."""

import numpy as np
import pytest
import tensorboardX.summary as peer
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboardX.writer import SummaryWriter as PeerWriter

from aboard._native import default_histogram_edges
from aboard.errors import InvalidValue
from aboard.events.histogram import histogram, histogram_raw
from support.cases import all_cases


def parsed(data):
    (value,) = Summary.FromString(data).value
    return value.histo


def assert_equals_peer(values, bins, max_bins=None):
    ours = parsed(histogram("t", values, bins, max_bins=max_bins))
    peer_bins = default_histogram_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
    theirs = parsed(peer.histogram("t", values, peer_bins, max_bins=max_bins).SerializeToString())
    assert list(ours.bucket) == list(theirs.bucket)
    assert list(ours.bucket_limit) == list(theirs.bucket_limit)
    assert (ours.num, ours.min, ours.max) == (theirs.num, theirs.min, theirs.max)
    np.testing.assert_allclose([ours.sum, ours.sum_squares], [theirs.sum, theirs.sum_squares], rtol=1e-12)


RANDOM = np.random.default_rng(0)
SAMPLES = {
    "normal": RANDOM.normal(size=1000),
    "float32": RANDOM.normal(size=(10, 20)).astype(np.float32),
    "float16": RANDOM.normal(size=100).astype(np.float16),
    "integers": RANDOM.integers(-5, 5, 100),
    "bool": np.array([True, False, True]),
    "constant": np.full(7, 3.5),
    "zeros": np.zeros(4),
    "one": np.array(2.0),
    "tiny": RANDOM.normal(size=50) * 1e-14,
    "huge": RANDOM.normal(size=50) * 1e18,
}


@all_cases("name", SAMPLES)
@all_cases("bins", ["tensorflow", "auto", "fd", "sturges", 1, 10, [-3, -1, 0, 0.5, 4], np.linspace(-9, 9, 31)])
@all_cases("max_bins", [None, 1, 3, 7, 64, 10_000])
def test_equals_tensorboardx(name, bins, max_bins):
    values = SAMPLES[name]
    if isinstance(bins, str | int) or np.any((values >= bins[0]) & (values <= bins[-1])):
        assert_equals_peer(values, bins, max_bins)
    else:  # which the peer refuses
        assert list(parsed(histogram("t", values, bins, max_bins=max_bins)).bucket) == [0]


@given(
    arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e15, 1e15)),
    st.sampled_from(["tensorflow", 1, 5, 30]),
    st.none() | st.integers(1, 40),
)
def test_any_values_equal_tensorboardx(values, bins, max_bins):
    assume(not isinstance(bins, int) or is_wide_enough(values, bins))
    assert_equals_peer(values, bins, max_bins)


def is_wide_enough(values, bins):
    """Whether numpy can divide the range of the values."""
    try:
        np.histogram(values, bins=bins)
    except ValueError:
        return False
    return True


def test_default_edges_are_those_of_the_peer(tmp_path):
    writer = PeerWriter(str(tmp_path), write_to_disk=False)
    np.testing.assert_allclose(default_histogram_edges(), writer.default_bins, rtol=1e-15)


def test_values_that_are_not_finite_count_in_num_only():
    result = parsed(histogram("t", np.array([1.0, np.nan, 3.0, np.inf, -np.inf]), "tensorflow"))
    assert (result.num, result.min, result.max, result.sum, result.sum_squares) == (5, 1, 3, 4, 10)
    assert sum(result.bucket) == 2


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 4])
def test_nothing_finite_gives_an_empty_bucket(bins):
    result = parsed(histogram("t", np.array([np.nan, np.inf]), bins))
    assert (result.num, result.min, result.max, result.sum) == (2, 0, 0, 0)
    assert list(result.bucket) == [0]
    assert list(result.bucket_limit) == [0]


def test_sums_beyond_float64_are_infinite_without_a_warning():
    result = parsed(histogram("t", np.array([1.7e308, 1.7e308, 1.0]), "tensorflow"))
    assert (result.sum, result.sum_squares, result.max) == (np.inf, np.inf, 1.7e308)


def test_all_values_outside_the_bins():
    result = parsed(histogram("t", np.array([5.0, 6.0]), [0, 1]))
    assert (list(result.bucket), list(result.bucket_limit)) == ([0], [6])


def test_tensorboard_shows_it():
    (value,) = Summary.FromString(histogram("t", SAMPLES["normal"], "tensorflow")).value
    migrated = data_compat.migrate_value(value)
    assert migrated.metadata.plugin_data.plugin_name == "histograms"


def test_empty_input():
    with pytest.raises(InvalidValue, match=r"The input has no element\..*\(0, 2\).*at least one"):
        histogram("t", np.zeros((0, 2)), "tensorflow")


@pytest.mark.parametrize("bins", ["nonsense", 0, -1, [3, 2, 1], [[1, 2], [3, 4]], 2.5])
def test_bad_bins(bins):
    with pytest.raises(InvalidValue, match=r"bins is .*allowed are 'tensorflow'"):
        histogram("t", np.arange(3.0), bins)


def test_bad_max_bins():
    with pytest.raises(InvalidValue, match="max_bins is 0; allowed are positive"):
        histogram("t", np.arange(3.0), 5, max_bins=0)


def test_values_that_are_no_numbers():
    with pytest.raises(InvalidValue, match="values has dtype <U1; allowed are arrays of real numbers"):
        histogram("t", np.array(["x"]), 5)


RAW = {"min": 0, "max": 4, "num": 3, "sum": 6.5, "sum_squares": 20}


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_raw_equals_tensorboardx(kind):
    limits, counts = kind([1, 2, 4]), kind([1, 0, 2])
    ours = histogram_raw("t", **RAW, bucket_limits=limits, bucket_counts=counts)
    theirs = peer.histogram_raw("t", **RAW, bucket_limits=[1, 2, 4], bucket_counts=[1, 0, 2])
    assert parsed(ours) == parsed(theirs.SerializeToString())


def test_raw_of_different_lengths():
    with pytest.raises(InvalidValue, match=r"len\(bucket_limits\) is 2 but len\(bucket_counts\) is 3.*equal"):
        histogram_raw("t", **RAW, bucket_limits=[1, 2], bucket_counts=[1, 0, 2])
