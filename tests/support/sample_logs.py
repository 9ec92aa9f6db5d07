# SPDX-License-Identifier: Apache-2.0
"""Logs with every kind of summary, by aboard's writer or tensorboardX's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(3)
PICTURE = RANDOM.integers(0, 256, (3, 10, 12), np.uint8)
CLOUD = RANDOM.random((1, 6, 3)).astype(np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
TONE = np.sin(np.linspace(0, 100, 2000)) / 2
VIDEO = RANDOM.integers(0, 256, (1, 5, 3, 8, 6), np.uint8)


def write_every_kind(writer_class: type[Any], folder: Path) -> None:
    """Two runs (and the runs below them that some calls make) in `folder`."""
    with writer_class(str(folder / "exp")) as writer:
        for step in range(10):
            writer.add_scalar("loss/train", 1 / (step + 1), step, walltime=1000.0 + step)
            writer.add_scalars("both", {"a": step, "b": -step}, step)
            writer.add_histogram("weights", RANDOM.normal(step, 1 + step, 200), step)
            writer.add_histogram_raw(
                "raw", min=0, max=4, num=6, sum=9, sum_squares=20, bucket_limits=[1, 2, 4], bucket_counts=[1, 2, 3],
                global_step=step,
            )  # fmt: skip
            writer.add_image("picture", PICTURE, step)
            writer.add_text("notes", f"# Title {step}\n| a | b |\n|---|---|\n| 1 | <b>2</b> |", step)
            writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.4, 0.9]), step, num_thresholds=5)
        for step, value in enumerate([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-45, 3e38]):
            writer.add_scalar("odd/values", value, step)
        writer.add_images("pictures", np.stack([PICTURE] * 9), 1)
        writer.add_image_with_boxes("boxes", PICTURE, np.array([[1, 1, 6, 6]]), 1, labels=["cat"])
        for step in range(3):
            writer.add_audio("tone", TONE * step, step, sample_rate=8000)
            writer.add_mesh(
                "cloud", CLOUD + step, colors=np.full((1, 6, 3), 7), faces=np.array([[[0, 1, 2]]]), global_step=step
            )
        writer.add_onnx_graph(_onnx_file(folder))
        writer.add_embedding(MATRIX, metadata=list("wxyz"), label_img=np.zeros((4, 3, 5, 5)), global_step=8, tag="emb")
        writer.add_custom_scalars({"losses": {"all": ["Multiline", ["loss/.*"]], "band": ["Margin", ["a", "b", "c"]]}})
    with writer_class(str(folder / "tuned")) as writer:
        writer.add_scalar("loss/train", 0.5, 3)
        writer.add_hparams({"lr": 0.2, "optimizer": "sgd", "bias": True}, {"acc": 0.5}, name="trial")


def _onnx_file(folder: Path) -> str:
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    ends = [value("x", TensorProto.FLOAT, [1, 2])], [value("y", TensorProto.FLOAT, [1, 2])]
    path = folder.with_suffix(".onnx")
    onnx.save(helper.make_model(helper.make_graph([node], "model", *ends)), str(path))
    return str(path)
