# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Transformers: `Trainer(…, callbacks=[TransformersCallback()])`, or `report_to="aboard"`."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from aboard.integrations.framework import ScalarLogger, choose_run, require
from aboard.run.training.run import Run

transformers: Any = require("transformers", "transformers", "4.40", newest_tested="5.22")
NAME = "aboard"
_STAGES = ("eval", "test")


class TransformersCallback(transformers.TrainerCallback):
    """Logs what the Trainer logs. Tags are those of its TensorBoard callback: `train/loss`, `eval/loss`."""

    def __init__(self, run: Run | None = None, *, hparams: Any = None, **options: Any) -> None:
        """Choose the run.

        Args:
            run: the run to log to; without one that of the script, of `aboard run`, or a new one, begun with training.
            hparams: hyperparameters besides the training arguments.
            options: arguments of `aboard.Run`, for a new run.
        """
        super().__init__()
        self.run = run
        self._options = options
        self._hparams = dict(hparams or {})
        self._scalars = ScalarLogger("Trainer")
        if run is not None:
            choose_run(run, **options)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training begins: its arguments and the model's configuration are hyperparameters."""
        if not state.is_world_process_zero:
            return
        run = self._begun(args)
        config: Any = getattr(kwargs.get("model"), "config", None)
        told: dict[str, Any] = dict(config.to_dict()) if hasattr(config, "to_dict") else {}
        arguments = args.to_sanitized_dict() if hasattr(args, "to_sanitized_dict") else args.to_dict()
        run.log_hparams({**told, **arguments, **self._hparams})

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not state.is_world_process_zero or not logs:
            return
        self._scalars.log(self._begun(args).writer(), tagged(logs), state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training is over; the run goes on."""
        if self.run is not None:
            self.run.flush()

    def _begun(self, args: Any) -> Run:
        if self.run is None:
            options = dict(self._options)
            name = getattr(args, "run_name", None)
            # Older versions call a run after the output folder unless somebody names it.
            if name and name != getattr(args, "output_dir", None):
                options.setdefault("name", name)
            self.run = choose_run(**options)
        return self.run


class TrainingArguments(transformers.TrainingArguments):
    """The arguments of every version, `logging_dir` included: transformers 5 has moved it into the environment."""

    def __init__(self, *args: Any, logging_dir: str | None = None, **named: Any) -> None:
        """Take `logging_dir` as the folder of the Trainer's own TensorBoard callback, wherever it is read."""
        if _knows_logging_dir():
            named["logging_dir"] = logging_dir
        elif logging_dir is not None:
            os.environ["TENSORBOARD_LOGGING_DIR"] = str(logging_dir)
        super().__init__(*args, **named)


def _knows_logging_dir() -> bool:
    return "logging_dir" in {field.name for field in dataclasses.fields(transformers.TrainingArguments)}


def tagged(logs: Mapping[str, Any]) -> dict[str, Any]:
    """`eval_loss` as `eval/loss`, all that is of neither evaluation nor test below `train/`."""
    named: dict[str, Any] = {}
    for name, value in logs.items():
        stage, found, rest = name.partition("_")
        named[f"{stage}/{rest}" if found and stage in _STAGES else f"train/{name}"] = value
    return named


def register() -> None:
    """Have `TrainingArguments(report_to="aboard")` mean `TransformersCallback`; done when this module is imported."""
    known = require("transformers.integrations.integration_utils", "transformers", "4.40")
    known.INTEGRATION_TO_CALLBACK[NAME] = TransformersCallback


register()
