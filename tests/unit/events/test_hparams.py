# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters: equal to tensorboardX for what it keeps, and complete for what it loses."""

import math

import numpy as np
import pytest
import tensorboardX.summary as peer
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.hparams.api_pb2 import DATA_TYPE_BOOL, DATA_TYPE_FLOAT64, DATA_TYPE_STRING, STATUS_SUCCESS
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from aboard.errors import InvalidType
from aboard.events.hparams import hparams
from support.cases import all_cases


def content(data):
    (value,) = Summary.FromString(data).value
    assert value.metadata.plugin_data.plugin_name == metadata.PLUGIN_NAME
    return value.tag, HParamsPluginData.FromString(value.metadata.plugin_data.content)


def recorded(**given):
    experiment, start, _ = hparams(given, [])
    values = {
        name: getattr(value, value.WhichOneof("kind"))
        for name, value in content(start)[1].session_start_info.hparams.items()
    }
    types = {info.name: info.type for info in content(experiment)[1].experiment.hparam_infos}
    assert values.keys() == types.keys()
    return values, types


PLAIN = st.text(st.characters(exclude_categories=["Cs"])) | st.booleans() | st.integers(-(2**60), 2**60) | st.floats()


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), PLAIN | st.none(), max_size=6),
    st.lists(st.text("abc/", max_size=4), max_size=4),
)
def test_plain_values_equal_tensorboardx(values, metrics):
    theirs = peer.hparams(values, dict.fromkeys(metrics, 0))
    for a, b in zip(hparams(values, dict.fromkeys(metrics)), theirs, strict=True):
        mine, other = content(a), content(b.SerializeToString())
        assert str(mine) == str(other)  # as text, because NaN is not equal to itself


def test_tags_and_end():
    tags = [content(data)[0] for data in hparams({"lr": 0.1}, ["loss"])]
    assert tags == [metadata.EXPERIMENT_TAG, metadata.SESSION_START_INFO_TAG, metadata.SESSION_END_INFO_TAG]
    _, end = content(hparams({}, [])[2])
    assert end.session_end_info.status == STATUS_SUCCESS


def test_types():
    values, types = recorded(s="a", b=True, i=3, f=0.5, none=None, function=len, kind=dict, items=[1, 2], d={"a": 1})
    assert values == {
        "s": "a",
        "b": True,
        "i": 3,
        "f": 0.5,
        "function": "len",
        "kind": "dict",
        "items": "[1, 2]",
        "d": "{'a': 1}",
    }
    assert types["b"] == DATA_TYPE_BOOL
    assert types["i"] == types["f"] == DATA_TYPE_FLOAT64
    assert types["s"] == types["items"] == DATA_TYPE_STRING


@all_cases(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.float16(2), 2.0),
        (np.longdouble(0.25), 0.25),
        (np.int64(7), 7.0),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array(1.5), 1.5),
        (np.array([1.5]), 1.5),
        (np.array(False), False),
        (np.array([1, 2]), "[1 2]"),
        (10**400, str(10**400)),
        (math.inf, math.inf),
        (1j, "1j"),
        ("a\ud800", "a?"),
    ],
)
def test_numpy_and_odd_values_are_kept(value, expected):
    values, _ = recorded(p=value)
    assert values["p"] == expected
    assert isinstance(values["p"], type(expected))


def test_names_need_not_be_text():
    _, start = content(hparams({1: 2}, [])[1])  # pyright: ignore[reportArgumentType] (wrong on purpose)
    assert start.session_start_info.hparams["1"].number_value == 2


def test_domains():
    given = {"lr": 0.1, "layers": np.int64(2), "opt": "adam", "bias": True}
    domains = {"lr": [0.1, 0.01], "layers": (1, 2), "opt": ["adam", "sgd"], "bias": [True, False]}
    _, experiment = content(hparams(given, [], domain_discrete=domains)[0])
    result = {info.name: list(info.domain_discrete) for info in experiment.experiment.hparam_infos}
    assert result == {name: list(domain) for name, domain in domains.items()}


@pytest.mark.parametrize("bad", [None, [("lr", 1)], "lr", 3])
def test_hparams_must_be_a_mapping(bad):
    with pytest.raises(InvalidType) as caught:
        hparams(bad, [])
    assert f"hparams is {bad!r} of type {type(bad).__name__}; allowed is a dict" in str(caught.value)


@pytest.mark.parametrize("bad", [None, "loss", 3])
def test_metrics_must_be_names(bad):
    with pytest.raises(InvalidType, match=r"metrics is .*allowed are metric names"):
        hparams({}, bad)


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ([1], "domain_discrete is [1] of type list; allowed is a dict"),
        ({"x": [1]}, "domain_discrete['x'] is not among the hparams; allowed: 'lr'"),
        ({"lr": 0.1}, "domain_discrete['lr'] is 0.1; allowed is a list of float"),
        ({"lr": "ab"}, "domain_discrete['lr'] is 'ab'; allowed is a list of float"),
        (
            {"lr": [0.1, "a"]},
            "domain_discrete['lr'] contains 'a' of type str; allowed is the type of hparams['lr'], float",
        ),
    ],
)
def test_bad_domains(domains, message):
    with pytest.raises(InvalidType) as caught:
        hparams({"lr": 0.1}, [], domain_discrete=domains)
    assert message in str(caught.value)
