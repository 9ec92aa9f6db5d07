# SPDX-License-Identifier: Apache-2.0
"""Keras 3 on any of its back ends: epochs and batches as curves, hyperparameters of the fit, histograms of weights."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aboard.errors import InvalidValue
from aboard.integrations.framework import BATCH_GROUP, BatchMetrics, ScalarLogger, choose_run, require
from aboard.run.training.run import Run

keras: Any = require("keras", "keras", "3.0", newest_tested="3.15")
_log = logging.getLogger("aboard.integrations")


class KerasCallback(keras.callbacks.Callback):
    """`model.fit(…, callbacks=[KerasCallback()])`.

    Tags and logdirs are those of `keras.callbacks.TensorBoard`, so that old and new runs share their charts:
    `epoch_loss` of `train` and `validation`, `evaluation_loss_vs_iterations` of a separate `evaluate`. Metrics of every
    batch are in their own group. Used for several fits, epochs and batches are counted on.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        run: Run | None = None,
        batch_metrics: bool = True,
        batch_group: str = BATCH_GROUP,
        histogram_freq: int = 0,
        hparams: Any = None,
        **options: Any,
    ) -> None:
        """Choose what is logged.

        Args:
            log_dir: a folder of your own for the event files, which are shipped from there. Not with `run`.
            run: the run to log to; without one that of the script, of `aboard run`, or a new one.
            batch_metrics: whether metrics of every batch are logged.
            batch_group: the group in which they appear.
            histogram_freq: after how many epochs weights are logged as histograms; 0: never.
            hparams: hyperparameters besides those of the fit and the optimizer.
            options: arguments of `aboard.Run`, for a new run.
        """
        super().__init__()
        if not isinstance(histogram_freq, int) or histogram_freq < 0:
            raise InvalidValue(f"histogram_freq is a number of epochs, 0 or more, got {histogram_freq!r}.")
        if log_dir is not None and run is not None:
            raise InvalidValue(
                f"log_dir={os.fspath(log_dir)!r} belongs to a new run, and one was given.",
                hint="Give the folder to aboard.Run(tensorboard_path=…).",
            )
        self._hparams = dict(hparams or {})
        self._histogram_freq = histogram_freq
        self._log_dir = None if log_dir is None else Path(log_dir)
        self.run = choose_run(run, tensorboard_path=self._log_dir, **options)
        self._scalars = ScalarLogger("Keras")
        self._batches = BatchMetrics(self.run.writer("train"), batch_group) if batch_metrics else None
        self._batch_count = 0
        self._is_fitting = False
        self._epochs_seen = 0
        self._offset: int | None = None

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """A fit begins: what it is asked to do is logged."""
        self._is_fitting = True
        self._offset = None
        self.run.log_hparams({**self._fit_hparams(), **self._hparams})

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._batch_count += 1
        if self._batches is not None and logs:
            self._batches.trained(logs)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """An epoch has ended, its validation included."""
        values = dict(logs or {})
        if self._offset is None:  # a further fit counts from 0 again; with `initial_epoch` it goes on by itself
            self._offset = max(0, self._epochs_seen - epoch)
        number = epoch + self._offset
        self._epochs_seen = number + 1
        validation = {name[4:]: values.pop(name) for name in list(values) if name.startswith("val_")}
        if (rate := self._learning_rate()) is not None:
            values.setdefault("learning_rate", rate)
        self._scalars.log(self.run.writer("train"), values, number, "epoch_")
        if validation:
            self._scalars.log(self.run.writer("validation"), validation, number, "epoch_")
            if self._batches is not None:
                self._batches.validated(validation)
        if self._histogram_freq and number % self._histogram_freq == 0:
            self._log_weights(number)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """The fit is over; the run goes on."""
        self._is_fitting = False
        self.run.flush()

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """An evaluation of its own has ended."""
        if not self._is_fitting and logs:
            named = {f"evaluation_{name}_vs_iterations": value for name, value in logs.items()}
            self._scalars.log(self.run.writer("validation"), named, self._batch_count)
            self.run.flush()

    def _fit_hparams(self) -> dict[str, Any]:
        told = {name: self.params[name] for name in ("epochs", "steps") if self.params.get(name) is not None}
        optimizer: Any = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            told["optimizer"] = str(optimizer.name)
            if (rate := self._learning_rate()) is not None:
                told["learning_rate"] = rate
        return told

    def _learning_rate(self) -> float | None:
        optimizer: Any = getattr(self.model, "optimizer", None)
        if optimizer is None or getattr(optimizer, "learning_rate", None) is None:
            return None
        return float(keras.ops.convert_to_numpy(optimizer.learning_rate))

    def _log_weights(self, epoch: int) -> None:
        writer = self.run.writer("train")
        for layer in self.model.layers:
            for weight in layer.weights:
                values = keras.ops.convert_to_numpy(weight)
                if values.size:
                    writer.add_histogram(f"{weight.path}/histogram", values, epoch)
