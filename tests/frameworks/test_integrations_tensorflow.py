# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, Keras on three back ends, event files of TensorFlow 1, Tensorpack, and clu for JAX and Flax."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.trained_examples import EXAMPLES, train

pytestmark = pytest.mark.timeout(400)

# Determined's lines with their import line changed; the driver stands for its trial class.
DETERMINED = """
    from aboard.compat.determined.keras import TFKerasTensorBoard
    TFKerasTrial = object

    class MyModel(TFKerasTrial):
        ...
        def keras_callbacks(self):
            return [TFKerasTensorBoard()]

    import keras, logging, numpy as np
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = np.ones((12, 2)), np.ones((12, 1))
    model.fit(*data, validation_data=data, batch_size=4, epochs=2, verbose=0, callbacks=MyModel().keras_callbacks())
    TFKerasTensorBoard(log_dir="elsewhere")
"""


@pytest.mark.framework("TensorFlow", "tensorflow-cpu", shows="`tf.summary` and Keras' own callback as they are")
@pytest.mark.framework(
    "TensorFlow", "tensorflow-cpu", shows="event files of TensorFlow 1 (Estimator's `model_dir`), by `--watch`"
)
def test_scripts_of_tensorflow_as_they_are(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "tensorflow_summaries.py", options=("--watch", "model_dir"))
    board = trained.board()
    assert board.steps("train", "epoch_loss") == [0, 1]
    assert board.steps("validation", "epoch_loss") == [0, 1]
    assert board.steps("custom", "distance") == list(range(5))
    assert board.curve(".", "loss") == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]
    assert board.tags("histograms")["train"]
    assert trained.run().metrics["validation/epoch_loss"].last.step == 1


@pytest.mark.framework(
    "Keras", "keras", "tensorflow-cpu", "torch", "jax", shows="`KerasCallback` on TensorFlow, torch and JAX"
)
@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_keras_on_every_back_end(tmp_path: Path, backend: str) -> None:
    trained = train(tmp_path, EXAMPLES / "keras_fit.py", KERAS_BACKEND=backend)
    assert f"backend {backend}" in trained.ended.out
    board = trained.board()
    assert board.steps("train", "epoch_loss") == [0, 1, 2, 3, 4]  # two fits with one callback
    assert board.steps("validation", "epoch_mae") == [0, 1, 2]
    assert [value for _, value in board.curve("train", "epoch_learning_rate")] == [pytest.approx(0.01)] * 5
    assert board.steps("train", "batch/loss") == list(range(1, 18))  # 3 of 3 batches, 2 of 4: the first is 1
    assert board.steps("train", "batch/val_loss") == [3, 6, 9]
    assert board.steps("validation", "evaluation_loss_vs_iterations") == [17]
    hparams = trained.run().hparams
    assert hparams["hidden"] == 8
    assert (hparams["optimizer"], hparams["epochs"]) == ("adam", 2)
    assert hparams["learning_rate"] == pytest.approx(0.01)
    assert any("kernel" in tag for tag in board.tags("histograms")["train"])


@pytest.mark.framework(
    "Keras", "keras", "tensorflow-cpu", "torch", "jax", shows="Determined's `TFKerasTensorBoard` by its import line"
)
def test_the_lines_of_determined(tmp_path: Path) -> None:
    trained = train(tmp_path, DETERMINED)
    board = trained.board()
    assert board.steps(".", "Determined/loss") == [1, 2, 3, 4, 5, 6]
    assert board.steps(".", "Determined/val_loss") == [3, 6]
    assert board.steps("train", "epoch_loss") == [0, 1]
    assert board.steps("validation", "epoch_loss") == [0, 1]
    assert "log_dir='elsewhere' is not used: the event files are in" in trained.ended.err


# Options, and mistakes that are told before anything is trained.
CHOICES = """
    import keras, numpy as np, pytest
    from aboard import Run
    from aboard.errors import InvalidType, InvalidValue
    from aboard.integrations.keras import KerasCallback

    run = Run()
    for wrong, error, words in [
        ({"run": run, "log_dir": "own"}, InvalidValue, "one was given"),
        ({"run": run, "experiment": "x"}, InvalidValue, "experiment belong to a new run"),
        ({"run": "run3"}, InvalidType, "must be an aboard.Run, got str"),
        ({"histogram_freq": -1}, InvalidValue, "0 or more, got -1"),
    ]:
        with pytest.raises(error, match=words):
            KerasCallback(**wrong)
    assert KerasCallback(batch_metrics=False).run is run  # the one that the script has begun

    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = np.ones((8, 2)), np.ones((8, 1))

    class Odd(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["phase"] = "warm" if epoch else 1.0  # a metric that changes its type

    callbacks = [Odd(), KerasCallback("own", batch_metrics=False)]
    model.fit(*data, batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
"""


def test_a_folder_of_ones_own_is_kept_and_mistakes_are_told(tmp_path: Path) -> None:
    trained = train(tmp_path, CHOICES, KERAS_BACKEND="torch")
    board = trained.board()
    assert list((trained.machine.folder / "own/train").glob("*tfevents*"))
    assert board.steps("train", "epoch_loss") == [0, 1]
    assert board.curve("train", "epoch_phase") == [(0, 1.0)]
    assert "'epoch_phase' was left out" in trained.ended.err
    assert not any(tag.startswith("batch/") for tag in board.tags("scalars")["train"])


@pytest.mark.framework(
    "Tensorpack", "tensorpack", "tensorflow-cpu", shows="`TFEventWriter` with graphs of TensorFlow 1"
)
def test_tensorpack(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "tensorpack_train.py")
    board = trained.board()
    (cost,) = [tag for tag in board.tags("scalars")["."] if "cost" in tag]
    assert board.steps(".", cost) == [5, 10]  # also with files that are split, two epochs in a second


@pytest.mark.framework("JAX, Flax", "jax", "flax", "clu", shows="`AboardMetricWriter` for clu, beside clu's own writer")
def test_clu(tmp_path: Path) -> None:
    trained = train(tmp_path, CLU + (EXAMPLES / "flax_clu.py").read_text(encoding="utf-8"))
    board = trained.board()
    assert board.steps("train", "loss") == list(range(1, 11))
    assert board.steps("clu", "loss") == [1]  # clu's own writer, in a folder that the environment names
    assert board.tags("histograms")["train"] == {"kernel"}
    assert board.tags("images")["train"] == {"picture"}
    assert trained.run().hparams == {"lr": 0.1, "hidden": 8}


# Before the lines of the example: clu as it is, no line of aboard.
CLU = """
import os
from clu import metric_writers
folder = os.path.join(os.environ["AIP_TENSORBOARD_LOG_DIR"], "clu")
own = metric_writers.create_default_writer(folder, asynchronous=False)
own.write_scalars(1, {"loss": 0.5})
own.flush()
"""
