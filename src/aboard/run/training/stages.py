# SPDX-License-Identifier: Apache-2.0
"""The stages of a run and the metrics logged to them: each stage has a writer and a step counter, made on first use."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aboard.errors import AboardError, InvalidType, InvalidValue
from aboard.writer.arguments import as_number
from aboard.writer.lifecycle import renew_in_child
from aboard.writer.summary_writer import SummaryWriter

_log = logging.getLogger("aboard.run")


class OnceWarnings:
    """Logs a warning once for each subject."""

    def __init__(self) -> None:
        self._said: set[tuple[object, ...]] = set()

    def warn(self, subject: tuple[object, ...], text: str) -> None:
        """Log `text` unless there was a warning about this subject."""
        if subject not in self._said:
            self._said.add(subject)
            _log.warning("%s (said once)", text)


class Stage:
    """A logdir of the run, such as `train`. The run itself is the stage with an empty name."""

    def __init__(self, name: str, folder: Path, *, write_to_disk: bool) -> None:
        self.name = name
        self.writer = SummaryWriter(folder, write_to_disk=write_to_disk)
        self.steps: Iterator[int] = itertools.count(1)
        self.batches: Iterator[int] = itertools.count(1)


class Stages:
    def __init__(self, folder: Path, *, write_to_disk: bool = True) -> None:
        self.folder = folder
        self._write_to_disk = write_to_disk
        self._known: dict[str | None, Stage] = {}
        self._making = threading.Lock()
        renew_in_child(self)

    def get(self, name: str | None) -> Stage:
        """The stage of that name; None is the run itself."""
        return self._known.get(name) or self._make(name)

    def flush(self) -> None:
        """Return when everything logged is in the files."""
        for stage in set(self._known.values()):
            stage.writer.flush()

    def close(self) -> None:
        for stage in set(self._known.values()):
            stage.writer.close()

    def _make(self, name: str | None) -> Stage:
        path = "" if name is None else checked_stage(name)
        with self._making:
            stage = self._known.get(name) or self._known.get(path)
            if stage is None:
                stage = Stage(path, self.folder / path, write_to_disk=self._write_to_disk)
            self._known[path] = self._known[name] = stage
            if not path:
                self._known[None] = stage
            return stage

    def become_child(self) -> None:
        """Have a lock that no thread of the parent holds."""
        self._making = threading.Lock()


def checked_stage(name: object) -> str:
    """The name of a stage as a relative path."""
    if not isinstance(name, str):
        raise InvalidType(
            f"A stage is named by text, not by {name!r} ({type(name).__name__}).", hint='Use "train", "test", …'
        )
    parts = [part for part in name.split("/") if part]
    if name.startswith("/") or "\0" in name or any(part in {".", ".."} for part in parts):
        raise InvalidValue(
            f"{name!r} cannot be a stage, which is a folder below that of the run.", hint='Use "train", "val/clean", …'
        )
    return "/".join(parts)


class MetricLogging:
    """Hands metrics to the writers of their stages. What cannot be logged is left out and said once; nothing raises."""

    def __init__(self, stages: Stages, said: OnceWarnings, batch_group: str) -> None:
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
