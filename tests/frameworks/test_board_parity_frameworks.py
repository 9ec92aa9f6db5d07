# SPDX-License-Identifier: Apache-2.0
"""A board shows what TensorFlow, Keras and torch logged as a real TensorBoard does."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch
from tensorboard.plugins.hparams import api as hp
from tensorboard.plugins.mesh import summary_v2 as mesh_summary
from torch.utils.tensorboard import SummaryWriter

from support.board_client import BoardClient, board_over
from support.board_parity import check_every_answer
from support.tensorboard_process import stock_tensorboard

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"),
    pytest.mark.timeout(300),
]
RANDOM = np.random.default_rng(5)


def write_tensorflow(folder):
    with tf.summary.create_file_writer(str(folder / "tf2")).as_default():
        for step in range(6):
            tf.summary.scalar("loss", 1 / (step + 1), step=step, description="*the* loss")
            tf.summary.histogram("weights", RANDOM.normal(size=100), step=step)
            # A number of pictures that differs from step to step.
            tf.summary.image("pictures", RANDOM.random((step % 3 + 1, 8, 9, 3)), step=step, max_outputs=5)
            tf.summary.audio("tone", RANDOM.random((2, 400, 1)).astype(np.float32), 8000, step=step)
            tf.summary.text("words", ["a", "b **c**"], step=step)
            tf.summary.text("table", [["a", "b"], ["c", "d"]], step=step)
        tf.summary.write("a tensor of no plugin", tf.constant([1.0, 2.0]), step=0)
        mesh_summary.mesh("mesh", RANDOM.random((2, 5, 3)).astype(np.float32), faces=np.zeros((2, 1, 3), int), step=1)
        tf.summary.trace_on(graph=True)
        tf.function(lambda x: tf.nn.relu(x) * 2)(tf.constant([1.0]))
        tf.summary.trace_export("trace", step=0)


def write_keras(folder):
    model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    board = tf.keras.callbacks.TensorBoard(str(folder / "keras"), histogram_freq=1, write_images=True)
    model.fit(np.zeros((20, 3)), np.zeros((20, 4)), epochs=3, verbose=0, callbacks=[board])


def write_hparams(folder):
    with tf.summary.create_file_writer(str(folder / "search")).as_default():
        units = hp.HParam("units", hp.Discrete([16, 32]), display_name="Units")
        hp.hparams_config(hparams=[units], metrics=[hp.Metric("acc", display_name="Accuracy")])
    for units in (16, 32):
        with tf.summary.create_file_writer(str(folder / "search" / str(units))).as_default():
            hp.hparams({"units": units}, trial_id=str(units))
            tf.summary.scalar("acc", units / 100, step=1)


def write_torch(folder):
    with SummaryWriter(str(folder / "torch")) as writer:
        for step in range(4):
            writer.add_scalar("loss", step, step)
            writer.add_scalar("new style", step, step, new_style=True)
            writer.add_histogram("weights", torch.randn(50), step)
            writer.add_text("words", "hello", step)
            writer.add_tensor("tensor", torch.ones(3), step)
        writer.add_graph(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), torch.ones(1, 3))
        writer.add_embedding(torch.randn(5, 3), metadata=list("abcde"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for write in (write_tensorflow, write_keras, write_hparams, write_torch):
        write(folder)
    return folder


@pytest.mark.parametrize("load_fast", [True, False])
def test_every_answer_is_that_of_tensorboard(logs, tmp_path, load_fast):
    ours = BoardClient(board_over(logs))
    index = ours.fetch("/data/plugin/scalars/tags").json
    with stock_tensorboard(logs, tmp_path / "output.txt", load_fast=load_fast) as stock:
        stock.wait_for(lambda tb: set(tb.fetch("/data/runs").json) == set(ours.fetch("/data/runs").json), "all runs")
        stock.wait_for(lambda tb: tb.fetch("/data/plugin/scalars/tags").json.keys() == index.keys(), "all scalars")
        stock.wait_for(lambda tb: tb.fetch("/data/plugins_listing").json["projector"]["enabled"], "the embedding")
        assert len(check_every_answer(ours, stock, load_fast=load_fast)) > 100
