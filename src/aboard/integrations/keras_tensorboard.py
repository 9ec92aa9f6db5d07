# SPDX-License-Identifier: Apache-2.0
"""Keras' own TensorBoard callback, with graph, profile and all its options, writing into the folder of the run."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from aboard.integrations.framework import BATCH_GROUP, BatchMetrics, choose_run, require
from aboard.run.training.run import Run

keras: Any = require("keras", "keras", "3.0", newest_tested="3.15")
require("tensorflow", "tensorflow", "2.16", newest_tested="2.21")
_log = logging.getLogger("aboard.integrations")


class RunTensorBoard(keras.callbacks.TensorBoard):
    """`keras.callbacks.TensorBoard` in the folder of the run, and metrics of every batch. Needs TensorFlow."""

    def __init__(
        self,
        log_dir: Any = None,
        *args: Any,
        run: Run | None = None,
        batch_metrics: bool = True,
        batch_group: str = BATCH_GROUP,
        **named: Any,
    ) -> None:
        """Take the arguments of Keras' callback.

        Args:
            log_dir: not used, and said so: event files belong into the folder of the run, where they are kept.
            args: further arguments of `keras.callbacks.TensorBoard`.
            run: the run to log to; without one that of the script, of `aboard run`, or a new one.
            batch_metrics: whether metrics of every batch are logged.
            batch_group: the group in which they appear.
            named: further arguments of `keras.callbacks.TensorBoard`.
        """
        self.run = choose_run(run)
        folder = str(self.run.tensorboard_dir)
        if log_dir is not None and str(log_dir) != folder:
            _log.warning("log_dir=%r is not used: the event files are in %s, the folder of the run.", log_dir, folder)
        super().__init__(folder, *args, **named)
        self._batch_metrics = BatchMetrics(self.run.writer(), batch_group) if batch_metrics else None

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        super().on_train_batch_end(batch, logs)
        if self._batch_metrics is not None and logs:
            self._batch_metrics.trained(logs)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """An epoch has ended, its validation included."""
        super().on_epoch_end(epoch, logs)
        found = {name: value for name, value in (logs or {}).items() if name.startswith("val_")}
        if self._batch_metrics is not None and found:
            self._batch_metrics.validated(found)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """The fit is over; the run goes on."""
        super().on_train_end(logs)
        self.run.flush()
