# SPDX-License-Identifier: Apache-2.0
"""`aboard.open` on what TensorFlow, Keras and torch logged."""

import numpy as np
import pytest
import tensorflow as tf
import torch
from tensorboard.plugins.hparams import api as hp
from torch.utils.tensorboard import SummaryWriter

import aboard

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"),
    pytest.mark.timeout(300),
]
RANDOM = np.random.default_rng(5)


def test_torch(tmp_path):
    pixels = RANDOM.integers(0, 255, (4, 5, 3), dtype=np.uint8)
    with SummaryWriter(str(tmp_path / "t")) as writer:
        for step in range(5):
            writer.add_scalar("loss", torch.tensor(step / 7), step)
        writer.add_scalar("double", 0.1, 1, new_style=True, double_precision=True)
        writer.add_image("picture", pixels, 2, dataformats="HWC")
        writer.add_histogram("weights", RANDOM.normal(size=1000), 2)
        writer.add_text("note", "words", 3)
        writer.add_hparams({"lr": 0.1, "name": "x", "flag": True}, {"acc": 0.5}, run_name="trial")
    run, trial = aboard.open(tmp_path).runs
    assert (run.name, trial.name) == ("t", "t/trial")
    assert run.hparams == trial.hparams == {"lr": 0.1, "name": "x", "flag": True}
    assert run.scalars["loss"].values.tolist() == [float(np.float32(step / 7)) for step in range(5)]
    assert run.scalars["double"].values.tolist() == [0.1]
    assert np.array_equal(run.images["picture"][0].array(), pixels)
    assert run.histograms["weights"][0].counts.sum() == 1000
    assert run.text["note/text_summary"][0].text == "words"
    assert trial.scalars["acc"].values[-1] == 0.5


def test_tensorflow(tmp_path):
    pictures = RANDOM.random((3, 8, 9, 3))
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        hp.hparams({"units": 16, "rate": 0.5, "name": "adam", "flag": False})
        tf.summary.scalar("loss", 0.25, step=1)
        tf.summary.histogram("weights", RANDOM.normal(size=100), step=1)
        tf.summary.image("pictures", pictures, step=2, max_outputs=3)
        tf.summary.audio("tone", RANDOM.random((2, 400, 1)).astype(np.float32), 8000, step=3)
        tf.summary.text("table", [["a", "b"], ["c", "d"]], step=4)
        tf.summary.write("array", tf.constant([1.0, 2.0]), step=5)
    (run,) = aboard.open(tmp_path).runs
    assert run.hparams == {"units": 16, "rate": 0.5, "name": "adam", "flag": False}
    assert run.scalars["loss"].values[-1] == 0.25
    assert run.histograms["weights"][0].counts.sum() == 100
    (picture,) = run.images["pictures"]
    assert (picture.width, picture.height, len(picture.files)) == (9, 8, 3)
    assert np.abs(picture.array(2) / 255 - pictures[2]).max() < 0.01
    (sound,) = run.audio["tone"]
    assert (sound.rate, len(sound.files)) == (8000, 2)
    assert run.text["table"][0].array().tolist() == [["a", "b"], ["c", "d"]]
    assert run.tensors["array"][0].array().tolist() == [1.0, 2.0]


def test_keras_logs_hyperparameters_above_its_runs(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    callbacks = [
        tf.keras.callbacks.TensorBoard(str(tmp_path)),
        hp.KerasCallback(str(tmp_path), {"units": 4, "optimizer": "sgd"}),
    ]
    data = np.zeros((20, 3)), np.zeros((20, 4))
    model.fit(*data, epochs=2, verbose=0, validation_data=data, callbacks=callbacks)
    runs = aboard.open(tmp_path).runs
    assert {"train", "validation"} <= set(runs.keys())
    assert runs["train"].hparams == runs["validation"].hparams == {"units": 4, "optimizer": "sgd"}
    assert len(runs["train"].scalars["epoch_loss"]) == 2
    assert runs["train"].graphs
