# SPDX-License-Identifier: Apache-2.0
"""The columns in which runs are listed: `name`, `hparams.lr`, `metrics.loss.min`, each with a title and a format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aboard.cli.shown_values import EMPTY, PRECISION, bytes_text, duration_text, shown
from aboard.errors import InvalidValue
from aboard.model.names import experiment_name, run_name
from aboard.model.query.evaluate import values_of
from aboard.model.query.fields import COLUMNS, parse_field
from aboard.model.query.syntax import Column, Field, Hparam, Metric, MetricPart
from aboard.model.run import Run

DEFAULT = ("run", "name", "workspace", "experiment", "status", "created", "duration", "tags")
# Columns that tables have and filters do not.
_OWN = ("run", "tags", "exp")


@dataclass(frozen=True)
class RunColumn:
    """One column. `field` is None for those of `_OWN`."""

    name: str
    title: str
    field: Field | None
    form: str = ""
    """As of Python's format(), for numbers."""

    def value(self, run: Run) -> object:
        """What a run has in it; None where it has nothing."""
        if self.field is None:
            return self._own(run)
        values = values_of(self.field, run)
        if self.field == Column("status", COLUMNS["status"]):
            return run.status
        return (values or [None])[0] if len(values) < 2 else values

    def text(self, run: Run, precision: int = PRECISION) -> str:
        """The value as a table shows it."""
        value = self.value(run)
        if self.form and isinstance(value, (int, float)) and not isinstance(value, bool):
            return format(value, self.form)
        if isinstance(self.field, Column) and isinstance(value, (int, float)):
            if self.field.name == "bytes":
                return bytes_text(value)
            if self.field.name == "duration":
                return duration_text(value)
        return shown(value, precision=precision)

    @property
    def is_number(self) -> bool:
        """Whether its values stand to the right."""
        if isinstance(self.field, Column):
            return str(self.field.kind) == "number"
        return isinstance(self.field, (Metric, Hparam))

    @property
    def asked(self) -> list[str]:
        """What the server is asked for; of metrics and hyperparameters it sends only these."""
        return [self.name] if isinstance(self.field, (Metric, Hparam)) else []

    def _own(self, run: Run) -> object:
        if self.name == "tags":
            return dict(run.tags) or None
        if self.name == "exp":
            return experiment_name(run.experiment_number) if run.experiment_number else None
        return run_name(run.number) if run.number else run.uid


def run_columns(given: str | None, added: str | None) -> list[RunColumn]:
    """The columns that a person names, separated by commas: `name`, `name=Title`, `metrics.loss.min:.3f`."""
    names = _parts(given) if given else list(DEFAULT)
    columns = [_column(name) for name in [*names, *_parts(added or "")]]
    if not columns:
        raise InvalidValue("no column is named", hint=f"name some of {all_names()}, hparams.NAME, metrics.NAME.min")
    return columns


def all_names(runs: Sequence[Run] = ()) -> str:
    """All columns, with the hyperparameters, metrics and tags of some runs."""
    parts = ", ".join(part.value for part in MetricPart)
    found = [*_OWN, *COLUMNS]
    found += sorted({f"hparams.{name}" for run in runs for name in run.hparams})
    found += sorted({f"metrics.{name}.({parts})" for run in runs for name in run.metrics})
    found += sorted({f"tags.{name}" for run in runs for name in run.tags})
    return ", ".join(found) if not runs else "\n".join(found)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _column(text: str) -> RunColumn:
    rest, _, form = text.partition(":")
    name, equals, title = rest.partition("=")
    name = name.strip()
    if form:
        _check_form(form)
    field = None if name in _OWN else parse_field(name)
    return RunColumn(name, title.strip() if equals else name, field, form)


def _check_form(form: str) -> None:
    for example in (1.5, 2):
        try:
            format(example, form)
            return
        except ValueError:
            continue
    raise InvalidValue(f"{form!r} is not a format for numbers", hint="write metrics.loss:.3f, bytes:, or the like")


def group_title(value: object) -> str:
    """What stands above a group of runs."""
    return EMPTY if value is None else shown(value)


def sortable(value: object) -> tuple[int, object]:
    """A key that brings any two values into an order: numbers, texts, the rest, nothing."""
    if value is None:
        return 4, 0
    if isinstance(value, (int, float)):
        return 0, float(value)
    if isinstance(value, datetime):
        return 1, value.timestamp()
    return (2, str(value)) if isinstance(value, str) else (3, str(value))
