# SPDX-License-Identifier: Apache-2.0
"""Layouts of the custom scalars dashboard equal those of tensorboardX."""

import pytest
import tensorboardX.summary as peer
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2

from aboard.errors import InvalidValue
from aboard.events.custom_scalars import custom_scalars

LAYOUTS = [
    {},
    {"empty": {}},
    {"Taiwan": {"twse": ["Multiline", ["twse/0050", "twse/2330"]]}},
    {
        "USA": {"dow": ["Margin", ["dow/aaa", "dow/bbb", "dow/ccc"]], "nasdaq": ["Multiline", []]},
        "größe": {"x": ("Multiline", ("a",))},
    },
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equals_tensorboardx(layout):
    (ours,) = Summary.FromString(custom_scalars(layout)).value
    (theirs,) = Summary.FromString(peer.custom_scalars(layout).SerializeToString()).value
    assert (ours.tag, ours.metadata) == (theirs.tag, theirs.metadata)
    parsed = [layout_pb2.Layout.FromString(v.tensor.string_val[0]) for v in (ours, theirs)]
    assert parsed[0] == parsed[1]
    assert ours.tensor.tensor_shape == theirs.tensor.tensor_shape


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        ([], "layout is []"),
        ({"c": ["Multiline", []]}, "layout['c'] is ['Multiline', []]"),
        ({"c": {"t": "Multiline"}}, "layout['c']['t'] is 'Multiline'"),
        ({"c": {"t": ["Multiline"]}}, "layout['c']['t'] is ['Multiline']"),
        ({"c": {"t": ["Pie", ["a"]]}}, "layout['c']['t'] is a chart of kind 'Pie'"),
        ({"c": {"t": ["Margin", ["a", "b"]]}}, "layout['c']['t'] has 2 tags, a margin chart needs exactly 3"),
        ({"c": {"t": ["Multiline", "ab"]}}, "layout['c']['t'] has the tags 'ab'"),
        ({"c": {"t": ["Multiline", [1]]}}, "layout['c']['t'] has the tags [1]"),
    ],
)
def test_bad_layouts_show_the_place_and_the_form(layout, place):
    with pytest.raises(InvalidValue) as caught:
        custom_scalars(layout)
    assert place in str(caught.value)
    assert "['Margin', [value, lower, upper]]" in str(caught.value)
