# SPDX-License-Identifier: Apache-2.0
"""Meshes hold the numbers of tensorboardX, with the tags and metadata that TensorBoard itself makes."""

import json
from typing import Any

import numpy as np
import pytest
import tensorboardX.summary as peer
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.mesh import metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.util import tensor_util

from aboard.errors import InvalidValue
from aboard.events.mesh import mesh
from support.cases import all_cases

RANDOM = np.random.default_rng(0)
VERTICES = RANDOM.random((2, 5, 3), np.float32)
COLORS = RANDOM.integers(0, 256, (2, 5, 3))
FACES = RANDOM.integers(0, 5, (2, 4, 3))
PARTS = [(None, None), (COLORS, None), (None, FACES), (COLORS, FACES)]


@pytest.mark.parametrize(("colors", "faces"), PARTS)
@pytest.mark.parametrize("config", [None, {"camera": {"cls": "PerspectiveCamera", "fov": 75}}])
def test_equals_tensorboardx(colors, faces, config):
    ours = Summary.FromString(mesh("m", VERTICES, colors, faces, config=config)).value
    theirs = Summary.FromString(peer.mesh("m", VERTICES, colors, faces, config).SerializeToString()).value
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(tensor_util.make_ndarray(a.tensor), tensor_util.make_ndarray(b.tensor))
        mine, other = (MeshPluginData.FromString(v.metadata.plugin_data.content) for v in (a, b))
        assert (mine.name, mine.content_type, list(mine.shape)) == (
            "m",
            other.content_type,
            list(other.shape),
        )
        assert json.loads(mine.json_config) == (config or {})


@pytest.mark.parametrize(("colors", "faces"), PARTS)
def test_tags_and_metadata_are_tensorboards_own(colors, faces):
    values = Summary.FromString(mesh("m", VERTICES, colors, faces)).value
    types = [MeshPluginData.FromString(v.metadata.plugin_data.content).content_type for v in values]
    components = metadata.get_components_bitmask(types)
    for value, kind in zip(values, types, strict=True):
        shape = tensor_util.make_ndarray(value.tensor).shape
        expected = metadata.create_summary_metadata("m", "", kind, components, shape, json_config="{}")
        assert value.metadata == expected
        assert value.tag == metadata.get_instance_name("m", kind)


def test_a_single_cloud_gets_a_batch_axis():
    (value,) = Summary.FromString(mesh("m", VERTICES[0])).value
    assert tensor_util.make_ndarray(value.tensor).shape == (1, 5, 3)


def test_colors_are_clipped():
    colors = np.array([[[-5, 300, 7.9], [np.nan, 0, 255]]])
    values = Summary.FromString(mesh("m", np.zeros((1, 2, 3)), colors)).value
    assert tensor_util.make_ndarray(values[1].tensor).tolist() == [[[0, 255, 7], [0, 0, 255]]]


def test_large_vertex_numbers_stay_exact():
    values = Summary.FromString(mesh("m", VERTICES[:1], faces=np.array([[0.0, 1, 2**24 + 1]]))).value
    assert tensor_util.make_ndarray(values[1].tensor)[0, 0, 2] == 2**24 + 1


@all_cases("name", ["vertices", "colors", "faces"])
@all_cases("bad", [np.zeros((2, 5, 4)), np.zeros(3), np.zeros((1, 2, 5, 3)), np.zeros((0, 3)), np.array([["a"] * 3])])
def test_bad_shapes(name, bad):
    parts: dict[str, Any] = {"vertices": VERTICES} | {name: bad}
    with pytest.raises(InvalidValue) as caught:
        mesh("m", **parts)
    assert f"{name} has shape {bad.shape}" in str(caught.value)
    assert "allowed are real numbers in B x N x 3" in str(caught.value)


@pytest.mark.parametrize("bad", [0.5, -1.0, np.nan, np.inf, 2.0**40])
def test_faces_must_be_integers(bad):
    with pytest.raises(InvalidValue) as caught:
        mesh("m", VERTICES[:1], faces=np.array([[0, 1, bad]]))
    assert f"faces contains {bad}; allowed are vertex numbers" in str(caught.value)


def test_parts_must_fit_each_other():
    with pytest.raises(InvalidValue, match=r"colors has shape \(1, 5, 3\) but vertices has \(2, 5, 3\)"):
        mesh("m", VERTICES, COLORS[:1])
    with pytest.raises(InvalidValue, match=r"faces has a batch of 1 but vertices of 2; both must be equal"):
        mesh("m", VERTICES, faces=FACES[:1])


def test_config_must_be_json():
    with pytest.raises(InvalidValue, match=r"config is .*not JSON.*allowed is a dict"):
        mesh("m", VERTICES, config={"a": object()})
