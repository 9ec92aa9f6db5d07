# SPDX-License-Identifier: Apache-2.0
"""What each integration costs a training step: a tiny model with it and without it, by turns, in one process.

Both figures are processor time, which a shared machine disturbs least: of the calling thread inside the calls of the
integration, and of the whole process for a step. A step of a tiny model is the worst case for a share.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings as python_warnings
from collections.abc import Callable
from typing import Any

from machine import describe, warnings
from report import machine_lines

PACKAGES = (
    "aboard",
    "torch",
    "keras",
    "tensorflow-cpu",
    "transformers",
    "lightning",
    "accelerate",
    "clu",
    "xgboost-cpu",
    "lightgbm",
)
MICROSECONDS, SHARE = 20.0, 0.01
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
Train = Callable[[bool], tuple[int, float]]


class Inside:
    """Adds up the time inside some methods of an object."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, thing: Any, *methods: str) -> Any:
        for name in methods:
            setattr(thing, name, self._timed(getattr(thing, name)))
        return thing

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds += time.thread_time() - begun

        return timed


def torch_loop(inside: Inside) -> Train:
    import torch

    from aboard.integrations.torch import TorchWriter

    writer = inside.of(TorchWriter("train").writer, "add_scalar")
    model, data = (
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)),
        torch.randn(64, 64),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def train(logs: bool) -> tuple[int, float]:
        begun = time.process_time()
        for step in range(500):
            loss = model(data).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if logs:
                writer.add_scalar("loss", loss, step)
        return 500, time.process_time() - begun

    return train


def keras_fit(inside: Inside) -> Train:
    import keras
    import numpy as np

    from aboard.integrations.keras import KerasCallback

    data = np.random.default_rng(0).normal(size=(6400, 8)).astype("float32")
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    callback = inside.of(KerasCallback(), "on_train_begin", "on_train_batch_end", "on_epoch_end", "on_train_end")
    # Any callback that wants the numbers of a batch makes Keras fetch them: compared is one that does nothing else.
    nothing = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)

    def train(logs: bool) -> tuple[int, float]:
        begun = time.process_time()
        model.fit(data, data[:, :1], batch_size=32, verbose=0, callbacks=[callback if logs else nothing])
        return 200, time.process_time() - begun

    return train


def transformers_trainer(inside: Inside) -> Train:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    from aboard.integrations.transformers import TransformersCallback

    sizes = {
        "vocab_size": 50,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    model = BertForSequenceClassification(BertConfig(**sizes))
    rows = [{"input_ids": torch.randint(0, 50, (8,)), "labels": index % 2} for index in range(800)]
    callback = inside.of(TransformersCallback(), "on_train_begin", "on_log", "on_train_end")

    def train(logs: bool) -> tuple[int, float]:
        arguments = TrainingArguments(
            tempfile.mkdtemp(), report_to="none", logging_steps=1, num_train_epochs=1, per_device_train_batch_size=8,
            save_strategy="no", disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        trainer = Trainer(model, arguments, train_dataset=rows, callbacks=[callback] if logs else [])
        begun = time.process_time()
        with contextlib.redirect_stdout(None):
            trainer.train()
        return 100, time.process_time() - begun

    return train


def lightning_fit(inside: Inside) -> Train:
    import lightning.pytorch as pl
    import torch

    from aboard.integrations.lightning import AboardLogger, BatchMetricsCallback

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layer(batch[0]).square().mean()
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(6400, 64)), batch_size=32)
    logger = inside.of(AboardLogger(), "log_metrics", "log_hyperparams", "save")
    batches = inside.of(BatchMetricsCallback(), "on_train_batch_end")

    def train(logs: bool) -> tuple[int, float]:
        quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
        trainer = pl.Trainer(
            max_epochs=1, log_every_n_steps=1, accelerator="cpu", logger=logger if logs else False,
            callbacks=[batches] if logs else [], **quiet,
        )  # fmt: skip
        begun = time.process_time()
        trainer.fit(Model(), loader)
        return 200, time.process_time() - begun

    return train


def clu_loop(inside: Inside) -> Train:
    import jax

    from aboard.integrations.clu import AboardMetricWriter

    writer = inside.of(AboardMetricWriter(), "write_scalars")
    step = jax.jit(jax.value_and_grad(lambda w: ((data @ w) ** 2).mean()))
    data = jax.random.normal(jax.random.key(0), (256, 256))

    def train(logs: bool) -> tuple[int, float]:
        weights = jax.random.normal(jax.random.key(1), (256, 16))
        begun = time.process_time()
        for number in range(500):
            loss, gradient = step(weights)
            weights = weights - 0.001 * gradient
            number_of_loss = float(loss)  # both wait for the step
            if logs:
                writer.write_scalars(number, {"loss": number_of_loss})
        return 500, time.process_time() - begun

    return train


def xgboost_train(inside: Inside) -> Train:
    import numpy as np
    import xgboost

    from aboard.integrations.xgboost import XGBoostCallback

    data = np.random.default_rng(0).normal(size=(2000, 8))
    matrix = xgboost.DMatrix(data, data[:, 0] > 0)
    callback = inside.of(XGBoostCallback(), "before_training", "after_iteration", "after_training")
    parameters = {"objective": "binary:logistic", "nthread": 1}

    def train(logs: bool) -> tuple[int, float]:
        begun = time.process_time()
        chosen = [callback] if logs else []
        xgboost.train(parameters, matrix, 200, evals=[(matrix, "train")], verbose_eval=False, callbacks=chosen)
        return 200, time.process_time() - begun

    return train


def lightgbm_train(inside: Inside) -> Train:
    import lightgbm
    import numpy as np

    from aboard.integrations.lightgbm import LightGBMCallback

    data = np.random.default_rng(0).normal(size=(2000, 8))
    target = (data[:, 0] > 0).astype(int)
    callback = LightGBMCallback()
    timed = inside._timed(callback)

    def train(logs: bool) -> tuple[int, float]:
        training = lightgbm.Dataset(data, target)
        begun = time.process_time()
        chosen = [timed] if logs else []
        parameters = {"objective": "binary", "verbose": -1, "num_threads": 1}
        lightgbm.train(parameters, training, 200, valid_sets=[training], valid_names=["train"], callbacks=chosen)
        return 200, time.process_time() - begun

    return train


FRAMEWORKS: dict[str, Callable[[Inside], Train]] = {
    "PyTorch, TorchWriter": torch_loop,
    "Keras, KerasCallback, every batch": keras_fit,
    "Transformers, TransformersCallback, every step": transformers_trainer,
    "Lightning, AboardLogger and batches, every step": lightning_fit,
    "JAX, clu": clu_loop,
    "XGBoost": xgboost_train,
    "LightGBM": lightgbm_train,
}


def measure(framework: str, rounds: int) -> dict[str, float]:
    """In this process, by turns with and without."""
    python_warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["ABOARD_HOME"] = folder
        os.chdir(folder)
        from aboard import Run

        run = Run()
        inside = Inside()
        train = FRAMEWORKS[framework](inside)
        train(True)
        train(False)
        inside.seconds, steps, with_it, without = 0.0, 0, [], []
        for _ in range(rounds):
            count, seconds = train(False)
            without.append(seconds / count)
            count, seconds = train(True)
            with_it.append(seconds / count)
            steps += count
        run.finish()
    step = statistics.median(without)
    return {
        "step_us": step * 1e6,
        "inside_us": inside.seconds / steps * 1e6,
        "difference_us": (statistics.median(with_it) - step) * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--framework", choices=FRAMEWORKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.framework:
        print(json.dumps(measure(options.framework, options.rounds)))
        return
    machine = describe(None, PACKAGES)
    print(machine_lines(machine), *(f"**{text}**" for text in warnings(machine)), "", sep="\n")
    print("| integration | a step without it, µs | inside its calls, µs a step | share | whole steps differ by, µs | |")
    print("|---|---|---|---|---|---|")
    for framework in FRAMEWORKS:
        command = [sys.executable, __file__, "--framework", framework, "--rounds", str(options.rounds)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **ONE_THREAD})
        if ended.returncode:
            raise SystemExit(f"{framework} failed:\n{ended.stderr[-4000:]}")
        one = json.loads(ended.stdout.splitlines()[-1])
        share = one["inside_us"] / one["step_us"]
        verdict = "reached" if one["inside_us"] < MICROSECONDS or share < SHARE else "missed"
        figures = f"{one['step_us']:.0f} | {one['inside_us']:.1f} | {share:.2%} | {one['difference_us']:+.0f}"
        print(f"| {framework} | {figures} | {verdict} |", flush=True)


if __name__ == "__main__":
    main()
