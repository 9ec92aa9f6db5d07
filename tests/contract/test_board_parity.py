# SPDX-License-Identifier: Apache-2.0
"""A board answers every data request of every dashboard as a real TensorBoard does that reads the same logs.

Compared are status, kind and meaning of each answer: in JSON without the order of keys; where an answer names a
blob by key, with the bytes that are behind it. Both of TensorBoard's loaders are compared with, except where they
contradict each other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tensorboardX

import aboard
from aboard.board.provider import SampleLimits
from support.board_client import Asked, BoardClient, board_over, every_request, plugin
from support.board_parity import check_every_answer, meaning
from support.sample_logs import write_every_kind
from support.tensorboard_process import StockTensorBoard, stock_tensorboard

WRITERS = {"aboard": aboard.SummaryWriter, "tensorboardX": tensorboardX.SummaryWriter}
NOT_OFFERED = {"debugger-v2", "profile_redirect", "wit_redirect"}


class Pair(NamedTuple):
    ours: BoardClient
    stock: StockTensorBoard
    load_fast: bool


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """Every kind of data, by either writer."""
    folder = tmp_path_factory.mktemp("parity") / "logs"
    for name, writer in WRITERS.items():
        (folder / name).mkdir(parents=True)
        write_every_kind(writer, folder / name)
    # Of hyperparameters from two folders TensorBoard leaves the ranges out: `test_writer_parity` compares the writers.
    shutil.rmtree(folder / "tensorboardX/tuned")
    return folder


def _tags(side: StockTensorBoard) -> dict[str, Any]:
    return side.fetch("/data/plugin/scalars/tags").json


def requests(side: BoardClient | StockTensorBoard) -> set[str]:
    """What dashboards would ask of it."""
    return {str(one) for one in every_request(lambda one: side.fetch(*one).json)}


@pytest.fixture(scope="module", params=[True, False], ids=["load_fast", "load_slow"])
def pair(request, logs, tmp_path_factory) -> Iterator[Pair]:
    ours = BoardClient(board_over(logs))
    runs = set(ours.fetch("/data/runs").json)
    log = tmp_path_factory.mktemp("stock") / "output.txt"
    with stock_tensorboard(logs, log, load_fast=request.param) as stock:
        stock.wait_for(lambda tb: set(tb.fetch("/data/runs").json) == runs, "all runs")
        stock.wait_for(lambda tb: tb.fetch("/data/plugin/custom_scalars/layout").json, "the layout")
        stock.wait_for(lambda tb: "acc" in _tags(tb)["aboard/tuned/trial"], "the metric")
        stock.wait_for(lambda tb: tb.fetch("/data/plugins_listing").json["projector"]["enabled"], "the embedding")
        stock.wait_for(lambda tb: requests(tb) == requests(ours), "all data")
        yield Pair(ours, stock, request.param)


def test_every_answer_is_that_of_tensorboard(pair):
    asked = check_every_answer(pair.ours, pair.stock, load_fast=pair.load_fast)
    assert len(asked) > 180
    # Nothing that we list is unknown to TensorBoard.
    assert requests(pair.ours) == {str(one) for one in asked}


def test_the_same_dashboards_are_offered_except_those_that_read_a_folder(pair):
    ours, theirs = (side.fetch("/data/plugins_listing").json for side in (pair.ours, pair.stock))
    assert ours == {name: about for name, about in theirs.items() if name not in NOT_OFFERED}
    offered = [name for name, about in ours.items() if about["enabled"]]
    assert len(offered) == 13, offered


def test_what_does_not_exist_is_refused_alike(pair):
    for asked in (
        plugin("scalars", "scalars", run="nowhere", tag="loss/train"),
        plugin("scalars", "scalars", run="aboard/exp", tag="nothing"),
        plugin("scalars", "scalars", run="aboard/exp"),
        plugin("scalars", "scalars_multirun", run="aboard/exp"),
        Asked("/data/plugin/scalars/scalars_multirun", b"runs=aboard/exp", "application/x-www-form-urlencoded"),
        Asked("/data/plugin/scalars/scalars_multirun", b"tag=x&runs=aboard/exp", "application/x-www-form-urlencoded"),
        plugin("timeseries", "timeSeries"),
        plugin("timeseries", "timeSeries", requests="{"),
        plugin("timeseries", "timeSeries", requests=json.dumps([{"plugin": "scalars", "tag": "nothing"}])),
        plugin("images", "images", run="nowhere", tag="picture"),
        plugin("histograms", "histograms", run="aboard/exp", tag="nothing"),
        plugin("distributions", "distributions", run="nowhere", tag="weights"),
        plugin("pr_curves", "pr_curves", run="nowhere", tag="pr"),
        plugin("graphs", "run_metadata", run="aboard/exp", tag="nothing"),
        plugin("custom_scalars", "scalars", run="nowhere", tag=".*"),
        plugin("projector", "info", run="nowhere"),
        Asked("/data/nothing"),
    ):
        ours, theirs = (meaning(side.fetch(*asked), side.fetch) for side in (pair.ours, pair.stock))
        assert ours == theirs, asked


def test_where_tensorboard_leaves_points_out_ours_are_more(tmp_path):
    folder = tmp_path / "logs"
    with aboard.SummaryWriter(folder) as writer:
        for step in range(3000):
            writer.add_scalar("loss", step % 7, step, walltime=1000.0 + step)
        for step in range(60):
            writer.add_text("notes", str(step), step)
            writer.add_histogram("weights", [step], step)
    ours = BoardClient(board_over(folder, limits=SampleLimits(of_plugin={"scalars": 0})))  # as by --samples 0
    asked = [
        plugin("scalars", "scalars", run=".", tag="loss"),
        plugin("timeseries", "timeSeries", requests='[{"plugin": "scalars", "tag": "loss"}]'),
        plugin("timeseries", "timeSeries", requests='[{"plugin": "histograms", "tag": "weights", "run": "."}]'),
        plugin("histograms", "histograms", run=".", tag="weights"),
        plugin("text", "text", run=".", tag="notes/text_summary"),
    ]
    with stock_tensorboard(folder, tmp_path / "output.txt", load_fast=False) as stock:
        stock.wait_for(lambda tb: "notes/text_summary" in tb.fetch("/data/plugin/text/tags").json["."], "the text")
        stock.wait_for(lambda tb: tb.fetch(*asked[0]).json[-1][1] == 2999, "the last point")
        for one in asked:
            full, sample = _points(ours.fetch(*one).json), _points(stock.fetch(*one).json)
            assert all(point in full for point in sample), one
            assert full[-1] == sample[-1]
            assert len(full) == (3000 if "loss" in str(one) else 60), one


def _points(answer: Any) -> list[Any]:
    return answer[0]["runToSeries"]["."] if isinstance(answer[0], dict) and "runToSeries" in answer[0] else answer


def test_hparams_of_runs_that_declare_different_ones_are_united(tmp_path):
    for name, hparams in {"a": {"lr": 0.1}, "b": {"lr": 0.2, "decay": 0.5}}.items():
        with aboard.SummaryWriter(tmp_path / name) as writer:
            writer.add_hparams(hparams, {f"score/{name}": 1.0}, in_place=True)
    experiment = BoardClient(board_over(tmp_path)).fetch("/data/plugin/hparams/experiment", b"{}").json
    assert {about["name"] for about in experiment["hparamInfos"]} == {"lr", "decay"}
    assert {about["name"]["tag"] for about in experiment["metricInfos"]} == {"score/a", "score/b"}
