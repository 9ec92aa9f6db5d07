# SPDX-License-Identifier: Apache-2.0
"""`use_metadata`: steps and wall times for all calls of a block."""

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidValue
from support.reading import points, projector_config


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def seen(folder):
    return {point.tag: (point.step, point.wall_time) for point in points(folder)}


def test_every_kind_of_call(writer, tmp_path):
    array = np.zeros((3, 4, 4))
    with writer.use_metadata(global_step=4, walltime=9.5) as inside:
        assert inside is writer
        writer.add_scalar("scalar", 1)
        writer.add_scalar("titled", 1, display_name="x")
        writer.add_scalars("series", {"a": 1})
        writer.add_histogram("histogram", [1, 2])
        writer.add_histogram("bins", [1, 2], bins=3)
        writer.add_image("image", array)
        writer.add_video("video", np.zeros((1, 1, 3, 4, 4)))
        writer.add_audio("audio", [0.0, 0.5])
        writer.add_text("text", "x")
        writer.add_pr_curve("pr", [0, 1], [0.2, 0.8])
        writer.add_mesh("mesh", np.zeros((1, 2, 3)))
        writer.add_tensor("tensor", array)
        writer.add_custom_scalars({"a": {"b": ["Multiline", ["c"]]}})
        writer.add_hparams({"lr": 1}, {"metric": 2}, run_name="trial")
        writer.add_embedding(np.eye(2))
    writer.close()
    projected = {"default:00004"}
    for tag, place in seen(tmp_path).items():
        assert tag in projected or place == (4, 9.5), tag
    assert [entry.tensor_name for entry in projector_config(tmp_path).embeddings] == ["default:00004"]


def test_arguments_of_a_call_win(writer, tmp_path):
    with writer.use_metadata(global_step=4, walltime=9.5):
        writer.add_scalar("step", 1, 7)
        writer.add_scalar("time", 1, walltime=8.5)
        writer.add_scalar("zero", 1, 0, 0.0)
    writer.close()
    assert seen(tmp_path) == {"step": (7, 9.5), "time": (4, 8.5), "zero": (0, 0.0)}


def test_blocks_nest_and_end(writer, tmp_path):
    with writer.use_metadata(global_step=1, walltime=1.0):
        with writer.use_metadata(global_step=2):
            writer.add_scalar("inner", 1)
        writer.add_scalar("outer", 1)
    writer.add_scalar("after", 1)
    writer.close()
    found = seen(tmp_path)
    assert found["inner"] == (2, 1.0)
    assert found["outer"] == (1, 1.0)
    assert found["after"][0] == 0
    assert found["after"][1] > 1e9


def test_a_block_ends_also_after_an_error(writer, tmp_path):
    with pytest.raises(RuntimeError), writer.use_metadata(global_step=5):
        raise RuntimeError
    writer.add_scalar("after", 1)
    writer.close()
    assert seen(tmp_path)["after"][0] == 0


def test_something_must_be_given(writer):
    with pytest.raises(InvalidValue, match="global_step, walltime or both"), writer.use_metadata():
        pass
