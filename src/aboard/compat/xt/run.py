# SPDX-License-Identifier: Apache-2.0
"""XT's `Run` on top of aboard's: the same names and arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from aboard.errors import InvalidValue
from aboard.run.training.run import Run as AboardRun
from aboard.writer.summary_writer import SummaryWriter


class Run:
    """Under `aboard run` the run that was started there, alone a new one. What XT does not have works, too:
    everything else that is asked of it is asked of `aboard.Run`.
    """

    def __init__(
        self,
        config: None = None,
        store: str | os.PathLike[str] | None = None,
        xt_logging: bool = True,
        aml_logging: bool = True,
        checkpoints_enabled: bool = True,
        tensorboard_path: str | os.PathLike[str] | None = None,
        supress_normal_output: bool = False,
    ) -> None:
        """Take XT's arguments.

        Args:
            config: XT's own object has no counterpart; settings are in `$ABOARD_HOME/config.toml`.
            store: a folder or URI.
            xt_logging: False, without a `tensorboard_path`: nothing is logged, as XT's scripts do in further ranks.
            aml_logging: accepted; nothing is logged to Azure ML.
            checkpoints_enabled: False: `set_checkpoint` keeps nothing.
            tensorboard_path: where event files go, a folder for each stage.
            supress_normal_output: accepted; nothing is printed anyway.
        """
        if config is not None:
            raise InvalidValue(
                f"Run(config={type(config).__name__}) is XT's own settings, which aboard does not read.",
                hint="Leave it away; aboard's settings are in $ABOARD_HOME/config.toml.",
            )
        enabled = bool(xt_logging or tensorboard_path)
        self.run = AboardRun(tensorboard_path, store=store, enabled=enabled)
        self.xt_logging, self.aml_logging, self.checkpoints_enabled = xt_logging, aml_logging, checkpoints_enabled
        self.tensorboard_path, self.supress_normal_output = tensorboard_path, supress_normal_output
        self.run_name, self.ws_name, self.exper_name = self.run.name, self.run.workspace, self.run.experiment
        self.resume_name = os.getenv("XT_RESUME_NAME")
        self.metric_names: dict[str, int] = {}
        """Names of metrics in the order of their coming, with their stage, as `train-loss`."""

    @property
    def train_writer(self) -> SummaryWriter:
        """For other kinds of summaries."""
        return self.run.writer("train")

    @property
    def test_writer(self) -> SummaryWriter:
        """For other kinds of summaries."""
        return self.run.writer("test")

    def log_metrics(self, data_dict: Mapping[str, Any], step_name: str | None = None, stage: str | None = None) -> None:
        """Log numbers; those without a stage belong to `train`. Stages other than XT's have curves of their own."""
        prefix = f"{stage}-" if stage else ""
        self.metric_names |= {f"{prefix}{name}": 1 for name in data_dict if name != step_name}
        self.run.log_metrics(data_dict, step_name=step_name, stage=stage or "train")

    def log_hparam(self, name: str, value: Any) -> None:
        self.run.log_hparam(name, value)

    def log_hparams(self, data_dict: Mapping[str, Any]) -> None:
        self.run.log_hparams(data_dict)

    def log_event(self, event_name: str, data_dict: Mapping[str, Any] | None = None) -> None:
        """Annotate the run."""
        self.run.log_event(event_name, data_dict)

    def is_resuming(self) -> bool:
        """Whether this is not the first start of the run."""
        return bool(self.resume_name)

    def set_checkpoint(self, dict_cp: Mapping[str, Any], fn_cp: str | os.PathLike[str] | None = None) -> bool:
        """Keep where the training is; whether it was kept."""
        if self.checkpoints_enabled:
            self.run.checkpoint(dict_cp, fn_cp)
        return self.checkpoints_enabled

    def get_checkpoint(self, fn_cp_dest: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
        """What `set_checkpoint` was given last, with the file copied to `fn_cp_dest`; None for a first start."""
        if not self.checkpoints_enabled or (checkpoint := self.run.resume()) is None:
            return None
        if fn_cp_dest is not None and checkpoint.file is not None:
            shutil.copyfile(checkpoint.file, fn_cp_dest)
        return dict(checkpoint.state)

    def clear_checkpoint(self) -> bool:
        """Forget the checkpoints; whether there could be any."""
        if self.checkpoints_enabled:
            self.run.clear_checkpoint()
        return self.checkpoints_enabled

    def close(self) -> None:
        """End the run as completed."""
        self.run.finish()

    def __enter__(self) -> Self:
        self.run.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run.__exit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        if name == "run":  # not made yet
            raise AttributeError(name)
        return getattr(self.run, name)
