# SPDX-License-Identifier: Apache-2.0
"""The same calls for aboard and a peer, one case per kind of summary, and what the records must have in common.

`differs` says in words where aboard deliberately departs from a peer; `expected` turns the peer's points into the ones
that aboard must then have. Everything else must be equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from support.reading import Point, points

TBX, TORCH = "tensorboardX", "torch"
BOTH = (TBX, TORCH)
Change = Callable[[Point], Point]
RANDOM = np.random.default_rng(7)
NOW = 1_700_000_000.25


@dataclass(frozen=True)
class Case:
    """`calls(writer, array)` logs; `array` makes what the peer's users pass: numpy arrays or torch tensors."""

    calls: Callable[[Any, Callable[[Any], Any]], object]
    peers: tuple[str, ...] = BOTH
    differs: str = ""
    expected: Mapping[str, Change] = field(default_factory=dict)
    """Per peer, what to change in its points before comparing."""


def check(case: Case, peer: str, peer_writer: Callable[[str], Any], array: Callable[[Any], Any], folder: Path) -> None:
    """Log with both writers and compare what TensorBoard reads."""
    import aboard
    from aboard.compat import tensorboardX

    ours_for = {TBX: tensorboardX.SummaryWriter, TORCH: aboard.SummaryWriter}
    for name, make in (("ours", ours_for[peer]), ("theirs", peer_writer)):
        with make(str(folder / name)) as writer:
            case.calls(writer, array)
    ours, theirs = points(folder / "ours"), points(folder / "theirs")
    assert theirs, "the peer wrote nothing: the case compares nothing"
    change = case.expected.get(peer)
    if change is not None:
        changed = sorted((change(point) for point in theirs), key=lambda point: point.key)
        assert not _same_lists(theirs, changed), "this case states a difference that does not exist"
        theirs = changed
    assert [point.key for point in ours] == [point.key for point in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert_same_point(mine, other)


def _same_lists(one: list[Point], other: list[Point]) -> bool:
    try:
        for a, b in zip(one, other, strict=True):
            assert_same_point(a, b)
    except (AssertionError, ValueError):
        return False
    return True


def assert_same_point(ours: Point, theirs: Point) -> None:
    for name in ("run", "tag", "step", "plugin", "display_name", "description"):
        assert getattr(ours, name) == getattr(theirs, name), f"{name} of {ours.key}"
    given = theirs.wall_time == NOW  # where the caller gave none, the clocks of two writers differ
    assert ours.wall_time == theirs.wall_time if given else abs(ours.wall_time - theirs.wall_time) < 60
    assert_same_value(ours.value, theirs.value, f"value of {ours.key}")
    assert_same_value(plain(ours.data), plain(theirs.data), f"plugin data of {ours.key}")


def assert_same_value(ours: Any, theirs: Any, place: str) -> None:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), place
        for key, value in ours.items():
            if key == "samples":  # torch scales by 32767 and cuts off, the others by 32768 and round
                np.testing.assert_allclose(value, theirs[key], atol=2.1 / 32768, err_msg=place)
            else:
                assert_same_value(value, theirs[key], f"{place}, {key}")
    elif isinstance(ours, float | np.ndarray) and not isinstance(theirs, str | None):
        np.testing.assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=1e-6, err_msg=place)
    else:
        assert ours == theirs, place


def plain(data: Any) -> Any:
    """A plugin's message with what has no meaning made equal: `null` and `{}` both are no configuration."""
    if hasattr(data, "json_config"):
        copy = type(data)()
        copy.CopyFrom(data)
        copy.json_config = json.dumps(json.loads(data.json_config) or {}, sort_keys=True)
        return copy
    return data


# ---- what the cases log

GRAY = RANDOM.random((6, 9), np.float32)
COLOR = RANDOM.random((3, 6, 9), np.float32)
BATCH = RANDOM.random((11, 3, 4, 5), np.float32)
BYTES = RANDOM.integers(0, 256, (3, 6, 9), np.uint8)
BOXES = np.array([[1, 1, 5, 4], [2, 0, 8, 5]], np.float32)
WAVE = np.sin(np.linspace(0, 40, 800)).astype(np.float32)[np.newaxis, :] * 0.9
LABELS = RANDOM.integers(0, 2, 200)
PREDICTIONS = RANDOM.random(200)
CLOUD = RANDOM.random((2, 5, 3)).astype(np.float32)
WEIGHTS = RANDOM.normal(size=(20, 30))
MATRIX = RANDOM.random((5, 3), np.float32)
SQUARES = RANDOM.random((5, 3, 4, 4), np.float32)
VIDEOS = RANDOM.integers(0, 256, (3, 5, 3, 8, 6), np.uint8)
LAYOUT = {
    "losses": {"both": ["Multiline", ["loss/train", "loss/.*"]]},
    "bounds": {"margin": ["Margin", ["mean", "low", "high"]]},
}


def figure(text: str) -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    made = plt.figure(figsize=(2, 1), dpi=50)
    made.text(0.2, 0.4, text)
    return made


def add_hparams_named(writer: Any, hparams: dict[str, Any], metrics: dict[str, Any], step: int | None = None) -> None:
    name = "run_name" if type(writer).__module__.startswith("torch") else "name"
    writer.add_hparams(hparams, metrics, global_step=step, **{name: "trial"})


def _tag(change: Callable[[str], str]) -> Change:
    return lambda point: replace(point, tag=change(point.tag))


def _nested(point: Point) -> Point:
    return replace(point, run=point.run.replace("loss_both_", "loss/both/"))


def _mesh_with_components(mask: int) -> Change:
    def change(point: Point) -> Point:
        part = {"1": "VERTEX", "2": "FACE", "3": "COLOR"}[point.tag[-1]]
        data = type(point.data)()
        data.CopyFrom(point.data)
        data.components = mask
        return replace(point, tag=f"{point.tag[:-1]}{part}", data=data)

    return change


def _clipped_image(picture: Any) -> Change:
    pixels = (np.clip(picture, 0, 1) * 255).astype(np.uint8).transpose(1, 2, 0)
    frames = np.concatenate([pixels, np.full((*pixels.shape[:2], 1), 255, np.uint8)], axis=2)[np.newaxis]
    return lambda point: replace(point, value={**point.value, "frames": frames})


def _without_step(point: Point) -> Point:
    return point if point.plugin != "hparams" else replace(point, step=7)


def _bool_as_bool(point: Point) -> Point:
    if point.plugin != "hparams":
        return point
    data = type(point.data)()
    data.CopyFrom(point.data)
    for info in data.experiment.hparam_infos:
        if info.name == "nesterov":
            info.type = 2  # DATA_TYPE_BOOL
    if "nesterov" in data.session_start_info.hparams:
        data.session_start_info.hparams["nesterov"].bool_value = True
    return replace(point, data=data)


def _numpy_kept(point: Point) -> Point:
    if point.plugin != "hparams":
        return point
    data = type(point.data)()
    data.CopyFrom(point.data)
    for info in data.experiment.hparam_infos:
        info.type = 3  # DATA_TYPE_FLOAT64
    if point.tag.endswith("session_start_info"):
        data.session_start_info.hparams["lr"].number_value = 0.5
        data.session_start_info.hparams["layers"].number_value = 3
    return replace(point, data=data)


def _declared(width: int, height: int) -> Change:
    return lambda point: replace(point, value={**point.value, "declared": (width, height)})


CASES: dict[str, Case] = {
    "scalar": Case(
        lambda w, a: [w.add_scalar("loss/train", value, step, NOW) for step, value in enumerate([3.5, 2, True, -0.0])]
    ),
    "scalar of one element": Case(lambda w, a: w.add_scalar("loss", a(np.array([[2.5]])), 1, NOW)),
    "scalar without step": Case(lambda w, a: w.add_scalar("loss", 1.25)),
    "scalar that is not finite": Case(
        lambda w, a: [w.add_scalar("loss", value, step, NOW) for step, value in enumerate([np.nan, np.inf, -np.inf])]
    ),
    "scalar of tag with odd characters": Case(
        lambda w, a: w.add_scalar("/val loss?", 1.0, 2, NOW),
    ),
    "scalar with titles": Case(
        lambda w, a: w.add_scalar("loss", 1.0, 2, NOW, display_name="Loss", summary_description="of *training*"),
        peers=(TBX,),
    ),
    "scalar with titles by position": Case(
        lambda w, a: w.add_scalar("loss", 1.0, 2, NOW, "Loss", "of *training*"), peers=(TBX,)
    ),
    "new-style scalar": Case(lambda w, a: w.add_scalar("loss", 0.1, 2, NOW, new_style=True), peers=(TORCH,)),
    "double scalar": Case(
        lambda w, a: w.add_scalar("loss", 0.1, 2, NOW, new_style=True, double_precision=True), peers=(TORCH,)
    ),
    "scalars": Case(
        lambda w, a: [w.add_scalars("loss/both", {"train": s, "val": 2 * s}, s, NOW) for s in range(3)],
        differs="torch makes flat runs loss_both_train; aboard nests them as tensorboardX does",
        expected={TORCH: _nested},
    ),
    "histogram": Case(lambda w, a: w.add_histogram("weights", a(WEIGHTS), 4, walltime=NOW)),
    "histogram of integers": Case(lambda w, a: w.add_histogram("counts", a(np.arange(-3, 9)), 4, walltime=NOW)),
    "histogram in numpy's bins": Case(
        lambda w, a: [
            w.add_histogram("weights", a(PREDICTIONS), step, bins=bins, walltime=NOW)
            for step, bins in enumerate(["auto", "sturges", 12])
        ]
    ),
    "histogram of few bins": Case(lambda w, a: w.add_histogram("weights", a(PREDICTIONS), 1, max_bins=5, walltime=NOW)),
    "raw histogram": Case(
        lambda w, a: w.add_histogram_raw("raw", 0.0, 3.0, 6, 9.0, 21.0, [1.0, 2.0, 3.0], [1, 2, 3], 5, NOW)
    ),
    "image": Case(lambda w, a: w.add_image("picture", a(COLOR), 1, NOW)),
    "image of bytes": Case(lambda w, a: w.add_image("picture", a(BYTES), 1, NOW)),
    "image in every layout": Case(
        lambda w, a: [
            w.add_image("picture", a(array), step, NOW, dataformats=layout)
            for step, (array, layout) in enumerate(
                [(GRAY, "HW"), (GRAY, "WH"), (GRAY[None], "CHW"), (COLOR.transpose(1, 2, 0), "HWC")]
            )
        ]
    ),
    "image out of range": Case(
        lambda w, a: w.add_image("picture", a(COLOR * 2 - 0.5), 1, NOW),
        differs="tensorboardX lets pixels wrap around; aboard and torch clip them",
        expected={TBX: _clipped_image(COLOR * 2 - 0.5)},
    ),
    "images": Case(lambda w, a: w.add_images("batch", a(BATCH), 1, NOW)),
    "images with channels last": Case(
        lambda w, a: w.add_images("batch", a(BATCH.transpose(0, 2, 3, 1)), 1, NOW, dataformats="NHWC")
    ),
    "boxes": Case(lambda w, a: w.add_image_with_boxes("boxes", a(COLOR), a(BOXES), 1, NOW, labels=["cat", "dog"])),
    "boxes of tag with odd characters": Case(
        lambda w, a: w.add_image_with_boxes("/my boxes", a(COLOR), a(BOXES), 1, NOW),
    ),
    "boxes scaled": Case(
        lambda w, a: w.add_image_with_boxes("boxes", a(COLOR), a(BOXES), 1, NOW, rescale=2),
        differs="both peers declare the size before scaling",
        expected={TBX: _declared(18, 12), TORCH: _declared(18, 12)},
    ),
    "figure": Case(lambda w, a: w.add_figure("plot", figure("A"), 1, walltime=NOW)),
    "figures": Case(lambda w, a: w.add_figure("plots", [figure("A"), figure("B"), figure("C")], 1, walltime=NOW)),
    "audio": Case(lambda w, a: w.add_audio("sound", a(WAVE[0]), 2, 8000, NOW)),
    "audio as torch has it": Case(lambda w, a: w.add_audio("sound", a(WAVE), 2, walltime=NOW), peers=(TORCH,)),
    "audio in stereo": Case(
        lambda w, a: w.add_audio("sound", a(np.stack([WAVE[0], -WAVE[0]], axis=1)), 2, walltime=NOW), peers=(TBX,)
    ),
    "audio out of range": Case(lambda w, a: w.add_audio("sound", a(2 * WAVE[0]), 2, walltime=NOW)),
    "audio of tag with odd characters": Case(
        lambda w, a: w.add_audio("my sound", a(WAVE[0]), 2, walltime=NOW),
    ),
    "text": Case(lambda w, a: [w.add_text("notes", text, s, NOW) for s, text in enumerate(["# A *title*", "äß→\n"])]),
    "text of tag with odd characters": Case(
        lambda w, a: w.add_text("my notes", "x", 1, NOW),
    ),
    "pr curve": Case(lambda w, a: w.add_pr_curve("pr", a(LABELS), a(PREDICTIONS), 3, walltime=NOW)),
    "pr curve with few thresholds and weights": Case(
        lambda w, a: w.add_pr_curve("pr", a(LABELS), a(PREDICTIONS), 3, 20, 0.5, NOW)
    ),
    "pr curve with too many thresholds": Case(
        lambda w, a: w.add_pr_curve("pr", a(LABELS), a(PREDICTIONS), 3, num_thresholds=500, walltime=NOW)
    ),
    "raw pr curve": Case(
        lambda w, a: w.add_pr_curve_raw(
            "pr",
            *(np.array(row, float) for row in ([3, 1], [2, 0], [0, 2], [0, 2], [0.6, 1], [1, 0.3])),
            3,
            2,
            walltime=NOW,
        )
    ),
    "mesh": Case(
        lambda w, a: w.add_mesh(
            "cloud",
            a(CLOUD),
            colors=a((CLOUD * 255).astype(np.uint8)),
            faces=a(np.array([[[0, 1, 2]], [[2, 3, 4]]])),
            config_dict={"material": {"size": 2}},
            global_step=6,
            walltime=NOW,
        ),
        differs="tensorboardX tags cloud_1 and leaves out the mask of components; aboard has TensorBoard's own form",
        expected={TBX: _mesh_with_components(0b1110)},
    ),
    "mesh of points": Case(
        lambda w, a: w.add_mesh("cloud", a(CLOUD), global_step=6, walltime=NOW),
        expected={TBX: _mesh_with_components(0b0010)},
    ),
    "custom scalars": Case(lambda w, a: w.add_custom_scalars(LAYOUT)),
    "custom multiline chart": Case(lambda w, a: w.add_custom_scalars_multilinechart(["a", "b"], "cat", "title")),
    "custom margin chart": Case(lambda w, a: w.add_custom_scalars_marginchart(["a", "b", "c"], title="title")),
    "hparams": Case(
        lambda w, a: add_hparams_named(w, {"lr": 0.1, "optimizer": "adam", "layers": 3}, {"acc": 0.5, "loss": 2})
    ),
    "hparams with a bool": Case(
        lambda w, a: add_hparams_named(w, {"nesterov": True}, {"acc": 0.5}),
        differs="torch takes a bool for the number 1; aboard and tensorboardX keep it",
        expected={TORCH: _bool_as_bool},
    ),
    "hparams of None and a function": Case(
        lambda w, a: add_hparams_named(w, {"dropout": None, "activation": np.tanh}, {"acc": 0.5}), peers=(TBX,)
    ),
    "hparams of numpy": Case(
        lambda w, a: add_hparams_named(w, {"lr": np.float32(0.5), "layers": np.int64(3)}, {"acc": 0.5}),
        peers=(TBX,),
        differs="tensorboardX drops numpy numbers (torch refuses them); aboard keeps them",
        expected={TBX: _numpy_kept},
    ),
    "hparams with a step": Case(
        lambda w, a: add_hparams_named(w, {"lr": 0.1}, {"acc": 0.5}, 7),
        differs="tensorboardX gives the step to the metrics only; aboard and torch to all",
        expected={TBX: _without_step},
    ),
    "hparams with domains": Case(
        lambda w, a: w.add_hparams(
            {"lr": 0.1, "optimizer": "adam"}, {"acc": 0.5}, {"lr": [0.1, 0.2], "optimizer": ["adam", "sgd"]}, "trial"
        ),
        peers=(TORCH,),
    ),
    "embedding": Case(lambda w, a: w.add_embedding(a(MATRIX), tag="a/b", global_step=12)),
    "embedding with labels": Case(
        lambda w, a: w.add_embedding(a(np.eye(3, dtype=np.float32)), metadata=["zero", 1, "two words"])
    ),
    "embedding with a table of labels": Case(
        lambda w, a: w.add_embedding(
            a(np.eye(2, dtype=np.float32)), metadata=[["a", 1], ["b", 2]], metadata_header=["name", "number"]
        )
    ),
    "embedding with pictures": Case(
        # Four pictures fill a square: tensorboardX leaves what is beyond them uninitialised.
        lambda w, a: w.add_embedding(a(np.eye(4, dtype=np.float32)), label_img=a(SQUARES[:4]), global_step=1)
    ),
    "two embeddings": Case(
        lambda w, a: [w.add_embedding(a(np.eye(2, dtype=np.float32)), global_step=step) for step in (1, 2)]
    ),
    "tensor": Case(
        lambda w, a: [
            w.add_tensor("array", a(array), step, NOW)
            for step, array in enumerate([np.arange(6).reshape(2, 3), COLOR, np.array([2.5])])
        ],
        peers=(TORCH,),
    ),
}
"""By name. Graphs are compared in the tests of ONNX, OpenVINO and torch graphs; a video needs moviepy."""

VIDEO = Case(
    lambda w, a: [w.add_video("clip", VIDEOS[:count], count, 4, NOW) for count in (1, 2, 3)],
    peers=(TBX,),
)


def cases_of(peer: str) -> list[str]:
    return [name for name, case in CASES.items() if peer in case.peers]
