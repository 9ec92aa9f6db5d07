# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Accelerate: `Accelerator(log_with=AboardTracker())`."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from aboard.integrations.framework import ScalarLogger, choose_run, require
from aboard.run.training.run import Run

_tracking: Any = require("accelerate.tracking", "accelerate", "0.20", newest_tested="1.15")


class AboardTracker(_tracking.GeneralTracker):
    """Logs what `accelerator.log` is given, and the `config` of `init_trackers` as hyperparameters."""

    name: ClassVar[str] = "aboard"
    requires_logging_directory: ClassVar[bool] = False
    main_process_only: ClassVar[bool] = True

    def __init__(self, run: Run | None = None, **options: Any) -> None:
        """Choose the run: `run`, that of the script, of `aboard run`, or a new one, to which `options` belong."""
        super().__init__()
        self.run = choose_run(run, **options)
        self._scalars = ScalarLogger("Accelerate")

    @property
    def tracker(self) -> Run:
        return self.run

    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        self.run.log_hparams(values)

    def log(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        writer, at = self.run.writer(), step or 0
        texts = {name: value for name, value in values.items() if isinstance(value, str)}
        self._scalars.log(writer, {name: value for name, value in values.items() if name not in texts}, at)
        for name, text in texts.items():
            writer.add_text(name, text, at)

    def log_images(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Batches of images; `dataformats` as for `SummaryWriter.add_images`, here NHWC unless it is given."""
        form = {"dataformats": "NHWC", **kwargs}
        for name, images in values.items():
            self.run.writer().add_images(name, images, step or 0, **form)

    def finish(self) -> None:
        """`accelerator.end_training`: all is in files; the run ends with its process."""
        self.run.flush()
