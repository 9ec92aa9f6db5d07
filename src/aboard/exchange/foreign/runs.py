# SPDX-License-Identifier: Apache-2.0
"""Runs of other tools by the name of the tool, and their points as an event file."""

from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from aboard import events
from aboard.errors import MissingPackage, UnknownName
from aboard.events.event import FILE_VERSION, SUMMARY, event
from aboard.model.hparams import HparamValue
from aboard.model.states import RunState
from aboard.writer.arguments import checked_tag
from aboard.writer.factories import RecordWriter


def import_library(module: str, package: str) -> Any:
    """A module of a tool; raises MissingPackage."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"Reading its data needs the package {package}, which is not installed here: {error}",
            hint=f"pip install {package}",
        ) from error


_LARGEST_EXACT = 2**24  # float32 holds every whole number up to here


class ForeignPoint(NamedTuple):
    """One number of a curve."""

    tag: str
    step: int
    wall_time: float
    value: float


@dataclass(frozen=True, kw_only=True)
class ForeignRun:
    """What another tool knows of a run."""

    key: str
    """What it calls the run for ever, with the name of the tool before it."""
    name: str
    experiment: str | None = None
    created: datetime
    ended: datetime | None = None
    status: RunState = RunState.COMPLETED
    user: str = ""
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    points: Callable[[], Iterable[ForeignPoint]]
    source: str
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Kinds of values that are not taken over, and how many of each."""

    @property
    def identity(self) -> bytes:
        """80 bits that are the same each time."""
        return hashlib.blake2b(self.key.encode(), digest_size=10).digest()


def write_points(run: ForeignRun, folder: Path) -> int:
    """Write the points as one event file, the same bytes each time; how many there were."""
    folder.mkdir(parents=True, exist_ok=True)
    begun = run.created.timestamp()
    name = f"events.out.tfevents.{int(begun):010d}.{run.key.partition(':')[0]}"
    count = 0
    with RecordWriter(folder / name) as writer:
        writer.write(event(FILE_VERSION, b"brain.Event:2", wall_time=begun))
        if run.hparams:
            shown = {name: value for name, value in run.hparams.items() if value is not None}
            for summary in events.hparams.hparams(shown, ()):
                writer.write(event(SUMMARY, summary, wall_time=begun))
        for point in run.points():
            writer.write(event(SUMMARY, _summary(point), wall_time=point.wall_time, step=point.step))
            count += 1
    return count


def _summary(point: ForeignPoint) -> bytes:
    """Float32 where that loses nothing that a curve would show; whole numbers beyond it keep all their digits."""
    tag = checked_tag(point.tag)
    is_large = math.isfinite(point.value) and abs(point.value) > _LARGEST_EXACT
    return (
        events.tensor.scalar_tensor(tag, point.value, double=True)
        if is_large
        else events.tensor.scalar(tag, point.value)
    )


_HOMES = {
    "aim": ("aboard.exchange.foreign.aim", "runs_of_aim"),
    "mlflow": ("aboard.exchange.foreign.mlflow", "runs_of_mlflow"),
    "trackio": ("aboard.exchange.foreign.trackio", "runs_of_trackio"),
    "wandb": ("aboard.exchange.foreign.wandb", "runs_of_wandb"),
}
TOOLS = tuple(_HOMES)


def foreign_runs(tool: str, place: str) -> Iterator[ForeignRun]:
    """The runs of a tool in a place that it knows."""
    if tool not in _HOMES:
        raise UnknownName(f"Nothing is known of {tool!r}.", hint=f"Runs can be taken from {', '.join(TOOLS)}.")
    module, function = _HOMES[tool]
    read = cast("Callable[[str], Iterator[ForeignRun]]", getattr(importlib.import_module(module), function))
    return read(place)
