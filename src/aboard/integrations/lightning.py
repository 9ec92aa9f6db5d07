# SPDX-License-Identifier: Apache-2.0
"""Lightning: `Trainer(logger=AboardLogger())`, for `lightning` and `pytorch_lightning`, and metrics of every batch."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from aboard.integrations.framework import BATCH_GROUP, BatchMetrics, ScalarLogger, choose_run, require
from aboard.run.training.run import Run
from aboard.writer.summary_writer import SummaryWriter


def _framework() -> Any:
    """The package that the script uses: both are the same under two names, and know only their own classes."""
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        return require("pytorch_lightning", "pytorch-lightning", "2.0", newest_tested="2.6")
    try:
        return require("lightning.pytorch", "lightning", "2.0", newest_tested="2.6")
    except ImportError:
        if sys.modules.get("pytorch_lightning") is None and not _is_there("pytorch_lightning"):
            raise
        return require("pytorch_lightning", "pytorch-lightning", "2.0", newest_tested="2.6")


def _is_there(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


lightning: Any = _framework()
_loggers: Any = require(f"{lightning.__name__}.loggers.logger", "lightning", "2.0")
_rank_zero_only: Any = require(f"{lightning.__name__}.utilities", "lightning", "2.0").rank_zero_only


def _is_first_rank() -> bool:
    """Asked of Lightning, which learns its rank when it starts its processes; its decorator costs more than a point."""
    return not _rank_zero_only.rank


class AboardLogger(_loggers.Logger):
    """Logs what `self.log` logs, under the tags of `TensorBoardLogger`, and hyperparameters of the module."""

    def __init__(self, run: Run | None = None, *, prefix: str = "", **options: Any) -> None:
        """Choose the run.

        Args:
            run: the run to log to; without one that of the script, of `aboard run`, or a new one.
            prefix: put before all tags, with a dash.
            options: arguments of `aboard.Run`, for a new run.
        """
        super().__init__()
        if run is not None:
            choose_run(run, **options)
        self._run = run
        self._options = options
        self._prefix = f"{prefix}-" if prefix else ""
        self._scalars = ScalarLogger("Lightning")
        self._writer: SummaryWriter | None = None

    @property
    def run(self) -> Run:
        """The run, begun when it is first asked for."""
        if self._run is None:
            self._run = choose_run(**self._options)
        return self._run

    @property
    def experiment(self) -> Run:
        """What Lightning calls the run."""
        return self.run

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def version(self) -> int:
        """Which start of the run this is."""
        return self.run.attempt

    @property
    def save_dir(self) -> str:
        """Where checkpoints go: the output folder of the run, whose contents are kept."""
        return str(self.run.output_dir)

    @property
    def log_dir(self) -> str:
        return str(self.run.tensorboard_dir)

    def log_hyperparams(self, params: dict[str, Any] | Namespace | None = None, *_: Any, **more: Any) -> None:
        hparams = {**_as_dict(params), **more}
        if _is_first_rank() and hparams:
            self.run.log_hparams(hparams)

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        if _is_first_rank():
            if self._writer is None:
                self._writer = self.run.writer()
            self._scalars.log(self._writer, metrics, step or 0, self._prefix)

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """The graph of the module, by its `example_input_array` unless another one is given."""
        example = input_array if input_array is not None else getattr(model, "example_input_array", None)
        if example is not None and _is_first_rank():
            self.run.writer().add_graph(model, example)

    def save(self) -> None:
        """Lightning asks for it after every step: what was logged is in files within half a second anyway."""

    def finalize(self, status: str) -> None:
        """A fit is over; the run goes on, and ends with its process."""
        if self._run is not None:
            self._run.flush()


class BatchMetricsCallback(lightning.Callback):
    """`Trainer(callbacks=[BatchMetricsCallback()])`: what `training_step` returns, for every batch."""

    def __init__(self, run: Run | None = None, *, group: str = BATCH_GROUP, **options: Any) -> None:
        """`group` is where the curves appear; the rest is as for `AboardLogger`."""
        super().__init__()
        self.run = choose_run(run, **options)
        self._batches = BatchMetrics(self.run.writer(), group)
        self._logs = True

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Of several ranks the first logs."""
        self._logs = bool(trainer.is_global_zero)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._logs and outputs is not None:
            values: Mapping[str, Any] = outputs if isinstance(outputs, Mapping) else {"loss": outputs}
            self._batches.trained(values)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """A validation after the batches so far; the trial run before training is none."""
        if self._logs and not trainer.sanity_checking:
            found = {name: value for name, value in trainer.callback_metrics.items() if name.startswith("val")}
            self._batches.validated(found)


def _as_dict(params: Any) -> dict[str, Any]:
    if params is None:
        return {}
    return dict(vars(params)) if isinstance(params, Namespace) else dict(params)
