# SPDX-License-Identifier: Apache-2.0
"""`write_to_disk=False` checks all arguments and leaves no trace."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from aboard import GlobalSummaryWriter, SummaryWriter
from aboard.errors import AboardError


def onnx_model():
    value = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [1])], [value("y", TensorProto.FLOAT, [1])])
    return onnx.helper.make_model(graph)


def figure():
    from matplotlib.figure import Figure

    return Figure(figsize=(1, 1), dpi=20)


PICTURE = np.zeros((3, 4, 4))
CALLS = {
    "add_scalar": lambda w: w.add_scalar("t", 1, 1),
    "add_scalar titled": lambda w: w.add_scalar("t", 1, 1, display_name="x"),
    "add_scalars": lambda w: w.add_scalars("t", {"a": 1}, 1),
    "add_histogram": lambda w: w.add_histogram("t", [1, 2]),
    "add_histogram_raw": lambda w: w.add_histogram_raw("t", 0, 1, 1, 1, 1, [1], [1]),
    "add_image": lambda w: w.add_image("t", PICTURE),
    "add_images": lambda w: w.add_images("t", [PICTURE, PICTURE], dataformats="CHW"),
    "add_image_with_boxes": lambda w: w.add_image_with_boxes("t", PICTURE, [[0, 0, 2, 2]]),
    "add_figure": lambda w: w.add_figure("t", figure()),
    "add_video": lambda w: w.add_video("t", np.zeros((1, 2, 3, 4, 4))),
    "add_audio": lambda w: w.add_audio("t", [0.0]),
    "add_text": lambda w: w.add_text("t", "x"),
    "add_onnx_graph": lambda w: w.add_onnx_graph(onnx_model()),
    "add_embedding": lambda w: w.add_embedding(np.eye(2), ["a", "b"]),
    "add_pr_curve": lambda w: w.add_pr_curve("t", [0, 1], [0.1, 0.9]),
    "add_pr_curve_raw": lambda w: w.add_pr_curve_raw("t", [1], [1], [1], [1], [1], [1]),
    "add_custom_scalars": lambda w: w.add_custom_scalars({}),
    "add_custom_scalars_multilinechart": lambda w: w.add_custom_scalars_multilinechart(["a"]),
    "add_custom_scalars_marginchart": lambda w: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "add_mesh": lambda w: w.add_mesh("t", np.zeros((1, 2, 3))),
    "add_tensor": lambda w: w.add_tensor("t", PICTURE),
    "add_hparams": lambda w: w.add_hparams({"lr": 1}, {"acc": 1}),
    "add_hparams in place": lambda w: w.add_hparams({"lr": 1}, {"acc": 1}, in_place=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(tmp_path / "log", write_to_disk=False) as writer:
        CALLS[name](writer)
        writer.flush()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", CALLS)
def test_the_same_call_writes_when_it_may(name, tmp_path):
    """So that the calls above are not empty by mistake."""
    with SummaryWriter(tmp_path / "log") as writer:
        before = size(tmp_path)
        CALLS[name](writer)
    assert size(tmp_path) > before


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_every_adding_method_is_covered():
    methods = {name for name in dir(SummaryWriter) if name.startswith("add_")}
    assert methods - {name.split()[0] for name in CALLS} == {"add_graph", "add_openvino_graph"}


@pytest.mark.parametrize(
    "call",
    [
        lambda w: w.add_scalar("t", [1, 2]),
        lambda w: w.add_scalar(None, 1),
        lambda w: w.add_scalar("t", 1, "step"),
        lambda w: w.add_image("t", np.zeros(3)),
        lambda w: w.add_embedding(np.eye(2), ["a"]),
        lambda w: w.add_hparams({}, {"a": "x"}),
        lambda w: w.add_histogram("t", []),
    ],
)
def test_mistakes_are_found_all_the_same(call, tmp_path):
    with pytest.raises(AboardError):
        call(SummaryWriter(tmp_path / "log", write_to_disk=False))


def test_names_and_folders_are_as_usual(tmp_path):
    writer = SummaryWriter(tmp_path / "log", write_to_disk=False)
    assert writer.get_logdir() == str(tmp_path / "log")
    assert SummaryWriter(write_to_disk=False).get_logdir().startswith("runs/")


def test_global_writer(tmp_path):
    writer = GlobalSummaryWriter(str(tmp_path / "log"), write_to_disk=False)
    writer.add_scalar("t", 1)
    writer.close()
    assert list(tmp_path.iterdir()) == []
