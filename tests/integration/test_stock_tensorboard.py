# SPDX-License-Identifier: Apache-2.0
"""A real TensorBoard, with either of its loaders, shows on each of its thirteen dashboards what aboard logged."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import wave
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from aboard import SummaryWriter
from aboard._native import default_histogram_edges
from support.object_servers import free_ports

RANDOM = np.random.default_rng(3)
PICTURE = RANDOM.integers(0, 256, (3, 10, 12), np.uint8)
CLOUD = RANDOM.random((1, 6, 3)).astype(np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
TONE = np.sin(np.linspace(0, 100, 2000)) / 2
SECONDS = 60  # how long anything may take to appear


def write_everything(folder: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.use("Agg")

    with SummaryWriter(folder / "exp") as writer:
        for step in range(10):
            writer.add_scalar("loss/train", 1 / (step + 1), step, walltime=1000.0 + step)
            writer.add_scalars("both", {"a": step, "b": -step}, step)
        writer.add_scalars("mix", {"a": 1, "b": 2}, 5, runs="none")
        writer.add_scalar("style/new", 0.5, 3, new_style=True)
        writer.add_scalar("style/double", 0.1, 3, double_precision=True)
        writer.add_scalar("titled", 4, 3, display_name="A title", summary_description="some *words*")
        writer.add_histogram("weights", np.repeat([-1.0, 0.5, 2.0], [10, 20, 30]), 7)
        writer.add_image("picture", PICTURE, 1)
        writer.add_images("pictures", np.stack([PICTURE] * 9), 1)
        writer.add_image_with_boxes("boxes", PICTURE, np.array([[1, 1, 6, 6]]), 1, labels=["cat"])
        writer.add_figure("figure", Figure(figsize=(2, 1), dpi=40), 1)
        writer.add_video("video", RANDOM.integers(0, 256, (1, 5, 3, 8, 6), np.uint8), 1)
        writer.add_audio("tone", TONE, 2, sample_rate=8000)
        writer.add_text("notes", "# A title", 3)
        writer.add_onnx_graph(onnx_model())
        writer.add_embedding(MATRIX, metadata=list("wxyz"), label_img=np.zeros((4, 3, 5, 5)), global_step=8, tag="emb")
        writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.4, 0.9]), 4, num_thresholds=5)
        writer.add_custom_scalars({"losses": {"all": ["Multiline", ["loss/.*"]]}})
        writer.add_mesh("cloud", CLOUD, colors=np.full((1, 6, 3), 7), faces=np.array([[[0, 1, 2]]]), global_step=9)
        writer.add_hparams({"lr": 0.1, "optimizer": "adam"}, {"acc": 0.75}, run_name="trial")
    with SummaryWriter(folder / "tuned") as writer:
        writer.add_hparams({"lr": 0.2, "optimizer": "sgd"}, {"acc": 0.5}, in_place=True)


def onnx_model() -> Any:
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    io = [value("x", TensorProto.FLOAT, [1, 2])], [value("y", TensorProto.FLOAT, [1, 2])]
    model = helper.make_model(helper.make_graph([node], "model", *io))
    onnx.checker.check_model(model)
    return model


class Board:
    """One TensorBoard process and its HTTP interface."""

    def __init__(self, folder: Path, load_fast: str, log: Path) -> None:
        (self.port,) = free_ports(1)
        options = {"logdir": folder, "port": self.port, "host": "127.0.0.1", "reload_interval": 1}
        arguments = [f"--{name}={value}" for name, value in options.items()]
        self.load_fast = load_fast
        self._output = log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", f"--load_fast={load_fast}", *arguments],
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)
        self._output.close()

    def fetch(self, path: str, body: bytes | None = None, form: str = "application/json", **query: Any) -> bytes:
        url = f"http://127.0.0.1:{self.port}/{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, data=body, headers={"Content-Type": form} if body else {})
        with self._opener.open(request, timeout=60) as answer:
            return answer.read()

    def json(self, path: str, body: Any = None, **query: Any) -> Any:
        return json.loads(self.fetch(path, None if body is None else json.dumps(body).encode(), **query))

    def plugin(self, name: str, route: str, **query: Any) -> Any:
        return self.json(f"data/plugin/{name}/{route}", **query)

    def wait_for(self, condition: Any, what: str) -> None:
        end = time.monotonic() + SECONDS
        while not _holds(condition):
            assert self.process.poll() is None, "TensorBoard ended"
            assert time.monotonic() < end, f"{what} did not appear within {SECONDS} s"
            time.sleep(0.1)


def _holds(condition: Any) -> bool:
    try:
        return bool(condition())
    except (urllib.error.URLError, ConnectionError, KeyError):
        return False


RUNS = {"exp", "exp/both/a", "exp/both/b", "exp/trial", "tuned"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    write_everything(folder)
    return folder


@pytest.fixture(scope="module", params=["true", "false"], ids=["load_fast", "load_slow"])
def board(request, logs, tmp_path_factory):
    board = Board(logs, request.param, tmp_path_factory.mktemp("board") / "output.txt")
    try:
        board.wait_for(lambda: set(board.json("data/runs")) == RUNS, "all runs")
        # Runs appear before their data; the mesh is what "exp" logged last, the metric what "tuned" did.
        board.wait_for(lambda: board.plugin("mesh", "tags")["exp"], "the mesh")
        last = {"tuned": "acc", "exp/trial": "acc", "exp/both/a": "both", "exp/both/b": "both"}
        board.wait_for(lambda: all(last[r] in board.plugin("scalars", "tags")[r] for r in last), "all curves")
        # The projector looks for its files when it is first asked, and then in the background.
        board.wait_for(lambda: board.json("data/plugins_listing")["projector"]["enabled"], "the embedding")
        yield board
    finally:
        board.stop()


def test_every_dashboard_is_offered(board):
    active = {name for name, plugin in board.json("data/plugins_listing").items() if plugin["enabled"]}
    assert active >= {
        "timeseries", "scalars", "images", "audio", "histograms", "distributions", "graphs", "text", "pr_curves",
        "mesh", "hparams", "custom_scalars", "projector",
    }  # fmt: skip


def test_scalars(board):
    tags = board.plugin("scalars", "tags")
    assert set(tags["exp"]) >= {"loss/train", "mix/a", "mix/b", "style/new", "titled"}
    assert tags["exp"]["titled"] == {"displayName": "A title", "description": "<p>some <em>words</em></p>"}
    series = board.plugin("scalars", "scalars", run="exp", tag="loss/train")
    expected = [[1000.0 + step, step, pytest.approx(1 / (step + 1), rel=1e-6)] for step in range(10)]
    assert series == expected
    for tag, value in {"style/new": 0.5, "mix/b": 2}.items():
        ((_, _, shown),) = board.plugin("scalars", "scalars", run="exp", tag=tag)
        assert shown == value


def test_double_scalars_are_shown_by_the_slow_loader_only(board):
    """TensorBoard's fast loader drops every scalar of 64 bits, torch's too; a change of that should be noticed."""
    if board.load_fast == "true":
        assert "style/double" not in board.plugin("scalars", "tags")["exp"]
    else:
        ((_, _, shown),) = board.plugin("scalars", "scalars", run="exp", tag="style/double")
        assert shown == 0.1


def test_scalars_of_one_chart_are_runs(board):
    assert set(board.plugin("scalars", "tags")["exp/both/b"]) == {"both"}
    series = board.plugin("scalars", "scalars", run="exp/both/b", tag="both")
    assert [(step, value) for _, step, value in series] == [(step, -step) for step in range(10)]


def test_timeseries(board):
    place = "experiment/defaultExperimentId/data/plugin/timeseries"
    tags = board.json(f"{place}/tags")
    assert "loss/train" in tags["scalars"]["runTagInfo"]["exp"]
    assert tags["histograms"]["runTagInfo"]["exp"] == ["weights"]
    assert "picture" in tags["images"]["tagRunSampledInfo"]
    body = urllib.parse.urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": "loss/train"}])}).encode()
    (answer,) = json.loads(board.fetch(f"{place}/timeSeries", body, "application/x-www-form-urlencoded"))
    assert [point["step"] for point in answer["runToSeries"]["exp"]] == list(range(10))


def image(board, tag):
    (entry,) = board.plugin("images", "images", run="exp", tag=tag, sample=0)
    data = board.fetch("data/plugin/images/individualImage", blob_key=entry_key(entry))
    return entry, PIL.Image.open(io.BytesIO(data))


def entry_key(entry):
    return urllib.parse.parse_qs(entry["query"])["blob_key"][0]


def test_images(board):
    assert set(board.plugin("images", "tags")["exp"]) == {"picture", "pictures", "boxes", "figure", "video"}
    entry, picture = image(board, "picture")
    assert entry["step"] == 1
    np.testing.assert_array_equal(np.asarray(picture), PICTURE.transpose(1, 2, 0))
    assert image(board, "pictures")[1].size == (8 * 12, 2 * 10)
    assert image(board, "boxes")[1].getpixel((1, 3)) == (255, 0, 0)
    assert image(board, "figure")[1].size == (80, 40)


def test_video_moves(board):
    video = image(board, "video")[1]
    assert (video.format, getattr(video, "n_frames", 1), video.size) == ("GIF", 5, (6, 8))


def test_audio(board):
    assert set(board.plugin("audio", "tags")["exp"]) == {"tone"}
    (entry,) = board.plugin("audio", "audio", run="exp", tag="tone", sample=0)
    assert (entry["step"], entry["contentType"]) == (2, "audio/wav")
    data = board.fetch("data/plugin/audio/individualAudio", content_type="audio/wav", blob_key=entry_key(entry))
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getframerate(), sound.getnframes(), sound.getnchannels()) == (8000, 2000, 1)
        samples = np.frombuffer(sound.readframes(2000), "<i2")
    np.testing.assert_allclose(samples / 32768, TONE, atol=1 / 32768)


def test_histograms(board):
    assert set(board.plugin("histograms", "tags")["exp"]) == {"weights"}
    ((_, step, buckets),) = board.plugin("histograms", "histograms", run="exp", tag="weights")
    assert step == 7
    filled = [(left, right, count) for left, right, count in buckets if count]
    assert [count for _, _, count in filled] == [10, 20, 30]
    assert all(left <= value <= right for (left, right, _), value in zip(filled, [-1, 0.5, 2], strict=True))
    assert len(buckets) < len(default_histogram_edges()) / 2  # outer empty buckets are left out


def test_distributions(board):
    assert set(board.plugin("distributions", "tags")["exp"]) == {"weights"}
    ((_, step, quantiles),) = board.plugin("distributions", "distributions", run="exp", tag="weights")
    assert step == 7
    assert quantiles[0] == [0, pytest.approx(-1, abs=0.2)]
    assert quantiles[-1] == [10000, pytest.approx(2, abs=0.2)]


def test_graph(board):
    assert board.plugin("graphs", "info")["exp"]["run_graph"] is True
    graph = board.fetch("data/plugin/graphs/graph", run="exp", conceptual="false").decode()
    assert 'op: "Relu"' in graph
    assert 'input: "x"' in graph


def test_text(board):
    assert board.plugin("text", "tags")["exp"] == ["notes/text_summary"]
    (entry,) = board.plugin("text", "text", run="exp", tag="notes/text_summary")
    assert entry["step"] == 3
    assert "<td><h1>A title</h1></td>" in entry["text"]


def test_pr_curves(board):
    assert set(board.plugin("pr_curves", "tags")["exp"]) == {"pr"}
    (curve,) = board.plugin("pr_curves", "pr_curves", run="exp", tag="pr")["exp"]
    assert curve["step"] == 4
    # TensorBoard leaves out the end of the curve where nothing is predicted to be positive.
    assert curve["thresholds"] == [0, 0.25, 0.5, 0.75]
    assert curve["true_positives"] == [2, 2, 1, 1]
    assert curve["false_positives"] == [1, 0, 0, 0]


def test_mesh(board):
    (info,) = board.plugin("mesh", "tags")["exp"].values()
    assert info == {"samples": 1}
    parts = sorted(
        board.plugin("mesh", "meshes", run="exp", tag="cloud", sample=0), key=lambda part: part["content_type"]
    )
    assert [part["content_type"] for part in parts] == [1, 2, 3]  # vertices, faces, colors
    part = parts[0]
    assert part["data_shape"] == [1, 6, 3]
    query = {"run": "exp", "tag": "cloud", "content_type": "VERTEX", "sample": 0, "timestamp": part["wall_time"]}
    data = board.fetch("data/plugin/mesh/data", step=9, **query)
    np.testing.assert_array_equal(np.frombuffer(data, np.float32).reshape(6, 3), CLOUD[0])


def test_hparams_of_a_run_of_their_own_and_in_place(board):
    experiment = board.json("data/plugin/hparams/experiment", {"experimentName": ""})
    assert {info["name"] for info in experiment["hparamInfos"]} == {"lr", "optimizer"}
    request = {"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "sliceSize": 10, "colParams": []}
    groups = board.json(
        "data/plugin/hparams/session_groups",
        {**request, "colParams": [{"metric": info["name"]} for info in experiment["metricInfos"]]},
    )["sessionGroups"]
    shown = {
        group["sessions"][0]["name"]: (group["hparams"], [metric["value"] for metric in group["metricValues"]])
        for group in groups
    }
    assert shown["exp/trial"] == ({"lr": 0.1, "optimizer": "adam"}, [0.75])
    assert shown["tuned"] == ({"lr": 0.2, "optimizer": "sgd"}, [0.5])


def test_custom_scalars(board):
    (category,) = board.plugin("custom_scalars", "layout")["category"]
    assert category["title"] == "losses"
    assert category["chart"] == [{"title": "all", "multiline": {"tag": ["loss/.*"]}}]
    answer = board.plugin("custom_scalars", "scalars", run="exp", tag="loss/.*")
    assert len(answer["tag_to_events"]["loss/train"]) == 10


def test_projector(board):
    assert board.plugin("projector", "runs") == ["exp"]
    (embedding,) = board.plugin("projector", "info", run="exp")["embeddings"]
    assert embedding["tensorShape"] == [4, 3]
    assert embedding["sprite"]["singleImageDim"] == [5, 5]
    name = embedding["tensorName"]
    tensor = board.fetch("data/plugin/projector/tensor", run="exp", name=name)
    np.testing.assert_array_equal(np.frombuffer(tensor, np.float32).reshape(4, 3), MATRIX)
    assert board.fetch("data/plugin/projector/metadata", run="exp", name=name) == b"w\nx\ny\nz\n"
    sprite = PIL.Image.open(io.BytesIO(board.fetch("data/plugin/projector/sprite_image", run="exp", name=name)))
    assert sprite.size == (10, 10)
