# SPDX-License-Identifier: Apache-2.0
"""Files of the embedding projector equal those of tensorboardX and parse with TensorBoard's proto."""

from pathlib import Path

import numpy as np
import pytest
import tensorboardX.embedding as peer
from google.protobuf import text_format
from PIL import Image
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from aboard.errors import InvalidValue
from aboard.events.projector import embedding_entry, metadata_tsv, sprite_pixels, tensors_tsv

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(1, 1), (4, 3)])
def test_tensors_equal_tensorboardx(tmp_path, dtype, shape):
    matrix = (RANDOM.normal(size=shape) * 10).astype(dtype)
    peer.make_mat(matrix, str(tmp_path))
    assert tensors_tsv(matrix) == Path(tmp_path, "tensors.tsv").read_text()


def test_bool_matrix_is_numeric():
    assert tensors_tsv(np.array([[True, False]])) == "1\t0\n"


@pytest.mark.parametrize(
    "matrix", [np.zeros(3), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((1, 2, 3)), np.array([["a"]])]
)
def test_bad_matrix(matrix):
    with pytest.raises(InvalidValue) as caught:
        tensors_tsv(matrix)
    assert f"the matrix has shape {matrix.shape}" in str(caught.value)
    assert "allowed are real numbers in N points x D numbers" in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "header"),
    [(["a", "größe", 3], None), ([["a", 1], ["b", 2.5]], ["name", "number"]), ([["a"]], ["x"])],
)
def test_metadata_equals_tensorboardx(tmp_path, metadata, header):
    peer.make_tsv(metadata, str(tmp_path), header)
    assert metadata_tsv(metadata, header) == Path(tmp_path, "metadata.tsv").read_text(encoding="utf8")


def test_cells_cannot_break_the_table():
    assert metadata_tsv(["a\tb\nc\rd"], None) == "a b c d\n"
    assert metadata_tsv([["a\tb", "c\nd"]], ["x\ty", "z"]) == "x y\tz\na b\tc d\n"


@pytest.mark.parametrize("row", [["a", "b", "c"], ["a"], "ab"])
def test_header_must_fit_each_row(row):
    with pytest.raises(InvalidValue, match=r"metadata\[1\] has \d cells .* header has 2 .*both must be equal"):
        metadata_tsv([["a", "b"], row], ["x", "y"])


@pytest.mark.parametrize("count", [1, 2, 4, 9, 16])
@pytest.mark.parametrize("channels", [1, 3])
def test_sprite_equals_tensorboardx(tmp_path, count, channels):
    images = RANDOM.random((count, channels, 6, 6), np.float32)
    with np.errstate(all="ignore"):
        peer.make_sprite(images, str(tmp_path))
    expected = np.asarray(Image.open(tmp_path / "sprite.png"))
    result = sprite_pixels(images)
    assert result.shape == expected.shape
    # Only the rows that hold pictures: the peer leaves the rest uninitialised.
    rows = -(-count // (result.shape[1] // 6)) * 6
    np.testing.assert_array_equal(result[:rows], expected[:rows])
    assert (result[rows:] == 0).all()


def test_uint8_sprite_is_kept():
    images = RANDOM.integers(0, 256, (4, 3, 2, 2), np.uint8)
    np.testing.assert_array_equal(sprite_pixels(images)[2:, 2:], images[3].transpose(1, 2, 0))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 2, 4, 4), (2, 4, 4, 4), (3, 4, 4), (0, 3, 4, 4)])
def test_bad_sprite(shape):
    with pytest.raises(InvalidValue) as caught:
        sprite_pixels(np.zeros(shape))
    assert f"the label images have shape {shape}; allowed is N x C x S x S with 1 or 3" in str(caught.value)


def test_sprite_that_is_too_large():
    images = np.broadcast_to(np.zeros((1, 1, 1, 1), np.uint8), (17, 1, 2048, 2048))
    with pytest.raises(
        InvalidValue, match=r"17 label images of 2048 x 2048 .* 10240 pixels; the projector allows 8192"
    ):
        sprite_pixels(images)


def test_entry_parses():
    entries = embedding_entry(tensor_name="a:00000", tensor_path="00000/a/tensors.tsv") + embedding_entry(
        tensor_name='we"ird\\\n\tgröße',
        tensor_path="t",
        metadata_path="m",
        sprite_path="s.png",
        picture_width=8,
        picture_height=9,
    )
    first, second = text_format.Parse(entries, ProjectorConfig()).embeddings
    assert (first.tensor_name, first.tensor_path, first.metadata_path) == (
        "a:00000",
        "00000/a/tensors.tsv",
        "",
    )
    assert not first.HasField("sprite")
    assert second.tensor_name == 'we"ird\\\n\tgröße'
    assert (second.metadata_path, second.sprite.image_path) == ("m", "s.png")
    assert list(second.sprite.single_image_dim) == [8, 9]


def test_entry_equals_tensorboardx(tmp_path):
    images = np.zeros((1, 3, 4, 4))
    peer.append_pbtxt(["a"], images, str(tmp_path), "00007/t", 7, "t")
    ours = embedding_entry(
        tensor_name="t:00007",
        tensor_path="00007/t/tensors.tsv",
        metadata_path="00007/t/metadata.tsv",
        sprite_path="00007/t/sprite.png",
        picture_width=4,
        picture_height=4,
    )
    theirs = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(ours, ProjectorConfig()) == text_format.Parse(theirs, ProjectorConfig())
