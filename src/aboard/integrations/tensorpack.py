# SPDX-License-Identifier: Apache-2.0
"""Tensorpack: its `TFEventWriter` monitor, writing into the folder of the run."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import logging
import time
from typing import Any

from aboard.integrations.framework import choose_run, require
from aboard.run.training.run import Run

require("tensorflow", "tensorflow", "2.0", newest_tested="2.21")
_monitors: Any = require("tensorpack.callbacks.monitor", "tensorpack", "0.9.8", newest_tested="0.11")
_log = logging.getLogger("aboard.integrations")


class TFEventWriter(_monitors.TFEventWriter):
    """A monitor: `TrainConfig(monitors=[TFEventWriter(), …])`. Tensorpack wants graphs of TensorFlow 1."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Tensorpack would leave the monitor out where `logger.set_logger_dir` was not called; this has a folder."""
        return object.__new__(cls)

    def __init__(
        self, logdir: Any = None, max_queue: int = 10, flush_secs: int = 120, *, run: Run | None = None, **named: Any
    ) -> None:
        """Take the arguments of Tensorpack's monitor; `logdir` is not used, and said so."""
        self.run = choose_run(run)
        folder = str(self.run.tensorboard_dir)
        if logdir is not None and str(logdir) != folder:
            _log.warning("logdir=%r is not used: the event files are in %s, the folder of the run.", logdir, folder)
        super().__init__(folder, max_queue, flush_secs, **named)
        self._second = 0

    def _setup_graph(self) -> None:
        """The first file is opened."""
        super()._setup_graph()
        self._second = int(time.time()) + 1  # its name may hold the next second already

    def _trigger(self) -> None:
        """An epoch is over. TensorFlow names files by the second: one made in the same second replaces the last."""
        second = int(time.time())
        splits, self._split_files = self._split_files, self._split_files and second > self._second
        if self._split_files:
            self._second = second + 1
        super()._trigger()
        self._split_files = splits
