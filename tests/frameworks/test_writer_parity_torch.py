# SPDX-License-Identifier: Apache-2.0
"""What aboard writes means to TensorBoard what torch would have written; the cases state each difference."""

import numpy as np
import pytest
import tensorboardX
import torch
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import aboard
from support.parity_cases import CASES, TBX, TORCH, VIDEO, cases_of, check
from support.reading import points, raw_values

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def tensor(array):
    return torch.from_numpy(np.array(array))


@pytest.mark.parametrize("name", cases_of(TORCH))
def test_same_meaning(name, tmp_path):
    check(CASES[name], TORCH, TorchWriter, tensor, tmp_path)


@pytest.mark.parametrize("name", cases_of(TBX))
def test_torch_tensors_mean_the_same_as_with_tensorboardx(name, tmp_path):
    check(CASES[name], TBX, tensorboardX.SummaryWriter, tensor, tmp_path)


def test_video_has_the_frames_of_tensorboardx(tmp_path):
    """Only tensorboardX can: torch needs moviepy.editor, which moviepy 2 no longer has, and then writes no image.

    Colors are compared loosely, for a GIF has 256 of them and encoders choose differently.
    """
    for name, make in (("ours", aboard.SummaryWriter), ("theirs", tensorboardX.SummaryWriter)):
        with make(str(tmp_path / name)) as writer:
            VIDEO.calls(writer, np.asarray)
    ours, theirs = points(tmp_path / "ours"), points(tmp_path / "theirs")
    assert [p.key for p in ours] == [p.key for p in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.value["format"] == other.value["format"] == "GIF"
        assert mine.value["declared"] == other.value["declared"]
        assert mine.value["frames"].shape == other.value["frames"].shape
        difference = np.abs(mine.value["frames"].astype(int) - other.value["frames"].astype(int))
        assert difference.mean() < 20


def test_double_precision_alone_keeps_all_digits(tmp_path):
    """torch ignores double_precision without new_style; aboard writes what was asked for."""
    for name, make in (("ours", aboard.SummaryWriter), ("theirs", TorchWriter)):
        with make(str(tmp_path / name)) as writer:
            writer.add_scalar("t", 0.1, 1, double_precision=True)
    (_, ours), (_, theirs) = raw_values(tmp_path / "ours")[0], raw_values(tmp_path / "theirs")[0]
    assert ours.tensor.double_val[0] == 0.1
    assert theirs.simple_value != 0.1


def test_torch_tensor_as_hparam(tmp_path):
    hparams, metrics = {"lr": torch.tensor([0.5])}, {"acc": torch.tensor(0.25)}
    for name, make in (("ours", aboard.SummaryWriter), ("theirs", TorchWriter)):
        with make(str(tmp_path / name)) as writer:
            writer.add_hparams(hparams, metrics, run_name="trial")
    ours, theirs = points(tmp_path / "ours"), points(tmp_path / "theirs")
    assert [p.data for p in ours] == [p.data for p in theirs]


def test_graph_of_a_module(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    for name, make in (("ours", aboard.SummaryWriter), ("theirs", TorchWriter)):
        with make(str(tmp_path / name)) as writer:
            writer.add_graph(model, torch.zeros(1, 3))
    ours, theirs = points(tmp_path / "ours"), points(tmp_path / "theirs")
    assert [(p.plugin, p.tag) for p in ours] == [(p.plugin, p.tag) for p in theirs]
    assert {name: op for name, (op, _) in ours[0].value.items()} == {
        name: op for name, (op, _) in theirs[0].value.items()
    }
