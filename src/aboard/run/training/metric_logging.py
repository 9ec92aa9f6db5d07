# SPDX-License-Identifier: Apache-2.0
"""`log_metrics` and its kin: which value is the step, which are metrics, and what to do with what is neither."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from aboard.errors import AboardError, InvalidType
from aboard.run.training.said_once import SaidOnce
from aboard.run.training.stages import Stage, Stages
from aboard.writer.values import as_number


class MetricLogging:
    """Hands metrics to the writers of their stages. What cannot be logged is left out and said once; nothing raises."""

    def __init__(self, stages: Stages, said: SaidOnce, batch_group: str) -> None:
        self._stages = stages
        self._said = said
        self._batch_group = batch_group
        self._batch_tags: dict[str, str] = {}

    def metrics(self, values: Mapping[str, Any], step_name: str | None, stage_name: str | None) -> None:
        """Log values at one step: the one called `step_name`, or else the next of the stage."""
        if not isinstance(values, Mapping):
            raise InvalidType(f"Metrics are a mapping from names to numbers, not {type(values).__name__}.")
        stage = self._stages.get(stage_name)
        step = None if step_name is None else self._named_step(values, step_name, stage)
        skipped = step_name
        if step is None:
            step, skipped = next(stage.steps), None
        add, moment = stage.writer.add_scalar, time.time()
        for name, value in values.items():
            if name != skipped:
                try:
                    add(name, value, step, moment)
                except AboardError as error:
                    self._left_out(stage, name, value, error)

    def batch_metrics(self, values: Mapping[str, Any], batch: int | None, stage_name: str | None) -> None:
        """Log values of one batch, below the group of batch metrics."""
        if not isinstance(values, Mapping):
            raise InvalidType(f"Metrics are a mapping from names to numbers, not {type(values).__name__}.")
        stage = self._stages.get(stage_name)
        number = next(stage.batches) if batch is None else batch
        add, moment = stage.writer.add_scalar, time.time()
        for name, value in values.items():
            try:
                add(self._batch_tag(name), value, number, moment)
            except AboardError as error:
                self._left_out(stage, name, value, error)

    def _named_step(self, values: Mapping[str, Any], step_name: str, stage: Stage) -> int | None:
        if step_name not in values:
            self._said.warn(
                ("step", stage.name, step_name),
                f"log_metrics: there is no {step_name!r} among the values of stage {stage.name!r}; "
                "its calls are counted instead",
            )
            return None
        value = values[step_name]
        if type(value) is int:
            return value
        try:
            number = as_number(value, step_name)
            if number.is_integer():
                return int(number)
        except AboardError:
            number = value
        self._said.warn(
            ("step", stage.name, step_name),
            f"log_metrics: {step_name!r} is {number!r}, which is not a whole number and cannot be a step; "
            "the calls are counted instead, and it is logged as a metric",
        )
        return None

    def _batch_tag(self, name: str) -> str:
        tag = self._batch_tags.get(name)
        if tag is None:
            tag = self._batch_tags[name] = f"{self._batch_group}/{name}" if self._batch_group else name
        return tag

    def _left_out(self, stage: Stage, name: object, value: object, error: AboardError) -> None:
        reason = "it is None" if value is None else error.message
        where = f" of stage {stage.name!r}" if stage.name else ""
        self._said.warn(("metric", stage.name, name), f"the metric {name!r}{where} was left out: {reason}")
