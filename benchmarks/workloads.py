# SPDX-License-Identifier: Apache-2.0
"""What is logged: one line of Python per workload, the same for every library, and the values it logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Names = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    call: str  # over `writer`, `step` and the names that `values` gives
    arguments: str  # evaluates what the call is given; its cost is measured and subtracted
    values: Callable[[], Names]
    loop_calls: int
    latency_calls: int
    warm_up_calls: int
    points_per_call: int = 1
    between: str = "pass"  # runs untimed between single calls

    def shrunk(self) -> Workload:
        """A tenth of it, for trying out."""
        fields = {**self.__dict__}
        for count in ("loop_calls", "latency_calls", "warm_up_calls"):
            fields[count] = max(3, fields[count] // 10)
        return Workload(**fields)


def _floats() -> Names:
    return {"values": np.random.default_rng(1).random(1024).tolist()}


def _floats_and_tags() -> Names:
    return {**_floats(), "tags": [f"layer{index:02d}/loss" for index in range(20)]}


def _numpy_scalars() -> Names:
    return {"values": list(np.random.default_rng(1).random(1024, np.float32))}


def _torch_scalars() -> Names:
    import torch

    return {"values": list(torch.rand(1024, generator=torch.Generator().manual_seed(1)))}


def _normal_million() -> Names:
    rng = np.random.default_rng(1)
    return {"values": [rng.standard_normal(1_000_000, np.float32) for _ in range(4)]}


def _noise_pictures() -> Names:
    rng = np.random.default_rng(1)
    return {"values": [rng.random((3, 512, 512), np.float32) for _ in range(4)]}


def _smooth_pictures() -> Names:
    rows, columns = np.mgrid[0:512, 0:512] / 512
    return {
        "values": [
            np.stack(
                [
                    127.5 + 60 * np.sin(7 * rows + phase + color) + 60 * np.cos(5 * columns - phase * color)
                    for color in range(3)
                ]
            ).astype(np.uint8)
            for phase in range(4)
        ]
    }


def _texts() -> Names:
    sentence = "The quick brown fox jumps over the lazy dog. "
    return {"values": [f"**sample {index}**: {sentence * 5}" for index in range(16)]}


def _five_series() -> Names:
    rng = np.random.default_rng(1)
    keys = ("train", "valid", "test", "best", "mean")
    return {"values": [dict(zip(keys, rng.random(5).tolist(), strict=True)) for _ in range(1024)]}


WORKLOADS = {
    "scalar": Workload(
        'writer.add_scalar("train/loss", values[step & 1023], step)',
        "values[step & 1023]",
        _floats,
        100_000,
        50_000,
        1000,
    ),
    "scalar_20_tags": Workload(
        "writer.add_scalar(tags[step % 20], values[step & 1023], step)",
        "tags[step % 20]; values[step & 1023]",
        _floats_and_tags,
        100_000,
        50_000,
        1000,
    ),
    "scalar_numpy": Workload(
        'writer.add_scalar("train/loss", values[step & 1023], step)',
        "values[step & 1023]",
        _numpy_scalars,
        50_000,
        20_000,
        1000,
    ),
    "scalar_torch": Workload(
        'writer.add_scalar("train/loss", values[step & 1023], step)',
        "values[step & 1023]",
        _torch_scalars,
        50_000,
        20_000,
        1000,
    ),
    "scalars": Workload(
        'writer.add_scalars("loss", values[step & 1023], step)',
        "values[step & 1023]",
        _five_series,
        10_000,
        5_000,
        100,
        points_per_call=5,
    ),
    "text": Workload(
        'writer.add_text("sample", values[step & 15], step)',
        "values[step & 15]",
        _texts,
        20_000,
        5_000,
        100,
    ),
    "histogram": Workload(
        'writer.add_histogram("weights", values[step & 3], step)',
        "values[step & 3]",
        _normal_million,
        30,
        30,
        3,
        between="writer.flush()",
    ),
    "image_noise": Workload(
        'writer.add_image("picture", values[step & 3], step)',
        "values[step & 3]",
        _noise_pictures,
        30,
        30,
        3,
        between="writer.flush()",
    ),
    "image_smooth": Workload(
        'writer.add_image("picture", values[step & 3], step)',
        "values[step & 3]",
        _smooth_pictures,
        30,
        30,
        3,
        between="writer.flush()",
    ),
}
