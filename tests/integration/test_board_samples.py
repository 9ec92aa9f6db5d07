# SPDX-License-Identifier: Apache-2.0
"""How many points and entries a board sends: as many as were asked for, the extremes among them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.board.provider import ALL, SampleLimits, spread
from aboard.reader.tags import DataClass
from support.board_client import BoardClient, board_over, form, plugin
from support.tensorboard_process import Answer

PICTURE = np.zeros((3, 4, 5), np.uint8)


def test_a_series_beyond_the_limit_is_reduced_and_keeps_its_extremes(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(5000):
            writer.add_scalar("loss", 99.0 if step == 1234 else step % 10, step)
            if step % 100 == 0:
                writer.add_text("note", str(step), step)
    client = BoardClient(board_over(tmp_path, limits=SampleLimits(scalars=1000, tensors=7)))
    points = client.fetch(*plugin("scalars", "scalars", run=".", tag="loss")).json
    assert len(points) <= 1000
    assert (points[0][1], points[-1][1]) == (0, 4999)
    assert 99.0 in [value for _, _, value in points]
    notes = client.fetch(*plugin("text", "text", run=".", tag="note/text_summary")).json
    assert len(notes) == 50, "TensorBoard's own wish of a hundred is more than the limit"


@pytest.fixture(scope="module")
def long_logs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    with SummaryWriter(folder) as writer:
        writer.add_custom_scalars({"all": {"loss": ["Multiline", ["loss"]]}})
        for step in range(12_000):
            writer.add_scalar("loss", step, step)
        for step in range(600):
            writer.add_image("picture", PICTURE, step)
            writer.add_text("note", str(step), step)
            writer.add_histogram("weights", [step], step)
    return folder


SCALAR_ROUTES = {
    "scalars": plugin("scalars", "scalars", run=".", tag="loss"),
    "csv": plugin("scalars", "scalars", run=".", tag="loss", format="csv"),
    "multirun": form("/data/plugin/scalars/scalars_multirun", [("tag", "loss"), ("runs", ".")]),
    "timeseries": plugin("timeseries", "timeSeries", requests='[{"plugin": "scalars", "tag": "loss"}]'),
    "custom_scalars": plugin("custom_scalars", "scalars", run=".", tag="loss"),
    "download": plugin("custom_scalars", "download_data", run=".", tag="loss", format="json"),
}


def _steps(body: Answer) -> list[int]:
    """The steps of the only series in an answer, whatever its form."""
    if body.content_type.startswith("text/csv"):
        return [int(line.split(",")[1]) for line in body.body.decode().splitlines()[1:]]
    found = body.json
    while isinstance(found, dict) or "runToSeries" in found[0]:
        if isinstance(found, list):
            found = found[0]["runToSeries"]
        else:
            found = found.get("tag_to_events") or next(iter(found.values()))
    return [point["step"] if isinstance(point, dict) else point[1] for point in found]


@pytest.mark.parametrize("route", SCALAR_ROUTES)
def test_as_many_points_as_were_asked_for_on_every_route(long_logs, route):
    for asked_for, sent in ({}, 1_000), ({"scalars": 50}, 50), ({"scalars": 1}, 1), ({"scalars": 0}, 12_000):
        client = BoardClient(board_over(long_logs, limits=SampleLimits(of_plugin=asked_for)))
        steps = _steps(client.fetch(*SCALAR_ROUTES[route]))
        assert sent // 2 <= len(steps) <= sent, asked_for
        assert steps[-1] == 11_999


@pytest.mark.parametrize(
    ("name", "asked", "usual"),
    [
        ("images", plugin("images", "images", run=".", tag="picture"), 500),
        ("text", plugin("text", "text", run=".", tag="note/text_summary"), 200),
        ("histograms", plugin("histograms", "histograms", run=".", tag="weights"), 200),
        ("histograms", plugin("distributions", "distributions", run=".", tag="weights"), 501),
        (
            "histograms",
            plugin("timeseries", "timeSeries", requests='[{"plugin": "histograms", "tag": "weights", "run": "."}]'),
            200,
        ),
    ],
)
def test_as_many_entries_as_were_asked_for(long_logs, name, asked, usual):
    for asked_for, sent in ({}, usual), ({name: 7}, 7), ({name: 0}, 600):
        client = BoardClient(board_over(long_logs, limits=SampleLimits(of_plugin=asked_for)))
        answer = client.fetch(*asked).json
        if "timeseries" in asked.path:
            answer = answer[0]["runToSeries"]["."]
        assert len(answer) == sent, asked_for


@pytest.mark.parametrize(
    "asked", [*SCALAR_ROUTES.values(), plugin("scalars", "tags"), plugin("timeseries", "tags")], ids=str
)
def test_answers_are_compressed_for_those_who_can_read_it(long_logs, asked):
    client = BoardClient(board_over(long_logs))
    plain, compressed = client.fetch(*asked), client.fetch(*asked, **{"Accept-Encoding": "gzip, br"})
    if len(plain.body) > 1024:
        assert len(compressed.body) < len(plain.body) / 2
        assert gzip.decompress(compressed.body) == plain.body
    else:
        assert plain.body == compressed.body or gzip.decompress(compressed.body) == plain.body
    assert client.fetch(*asked, **{"Accept-Encoding": "gzip;q=0"}).body == plain.body


def test_which_entries_stand_for_the_rest():
    limits = SampleLimits(scalars=10, of_plugin={"mine": 3, "whole": 0})
    assert [limits.budget("scalars", DataClass.SCALAR, wish) for wish in (None, 0, 1, 5, 20)] == [10, 0, 1, 10, 20]
    assert [limits.budget("mine", DataClass.SCALAR, wish) for wish in (None, 1, 5, 20)] == [3, 1, 3, 3]
    assert limits.budget("whole", DataClass.TENSOR, 20) == ALL
    assert spread(range(5), 9) == [0, 1, 2, 3, 4]
    assert spread(range(100), 4) == [0, 33, 66, 99]
    assert (spread(range(5), 1), spread(range(5), 0)) == ([4], [])
