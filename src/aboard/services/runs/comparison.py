# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from aboard.api.runs import Comparison, Difference
from aboard.model.hparams import HparamValue
from aboard.model.runs import RunRecord
from aboard.model.times import time_text

_COLUMNS = (
    *("name", "workspace", "experiment", "status", "user", "host", "store", "created", "started", "ended"),
    *("duration", "exit_code", "reason", "files", "bytes"),
)
# Different in any two attempts, and of no interest.
_OF_THE_MOMENT = frozenset({"pid", "token", "claimed", "number"})


def compare(first: RunRecord, second: RunRecord) -> Comparison:
    """Both runs, the fields that differ, and the hyperparameters that do not."""
    one, other = _fields(first), _fields(second)
    names = [*one, *(name for name in other if name not in one)]
    return Comparison(
        first=first,
        second=second,
        differences=tuple(
            Difference(field=name, first=one.get(name), second=other.get(name))
            for name in names
            if not _is_same(one.get(name), other.get(name))
        ),
        same={
            name: value
            for name, value in first.hparams.items()
            if name in second.hparams and _is_same(value, second.hparams[name])
        },
    )


def _fields(run: RunRecord) -> dict[str, HparamValue]:
    found = {name: _plain(getattr(run, name)) for name in _COLUMNS}
    found |= {f"hparams.{name}": value for name, value in sorted(run.hparams.items())}
    for name, metric in sorted(run.metrics.items()):
        found[f"metrics.{name}.last"] = metric.last.value
        found[f"metrics.{name}.min"] = metric.smallest.value if metric.smallest else None
        found[f"metrics.{name}.max"] = metric.largest.value if metric.largest else None
        found[f"metrics.{name}.count"] = metric.count
    found |= {f"tags.{name}": text for name, text in sorted(run.tags.items())}
    if run.attempts:
        found |= _flat("attempt", run.attempts[-1].details)
    return found


def _flat(above: str, details: Mapping[str, object]) -> dict[str, HparamValue]:
    """Command, code, packages, machine, as they were at the start of the last attempt."""
    found: dict[str, HparamValue] = {}
    for name, value in sorted(details.items()):
        if name in _OF_THE_MOMENT:
            continue
        if isinstance(value, Mapping):
            found |= _flat(f"{above}.{name}", cast("Mapping[str, object]", value))
        else:
            found[f"{above}.{name}"] = _plain(value)
    return found


def _plain(value: object) -> HparamValue:
    if isinstance(value, datetime):
        return time_text(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_same(one: HparamValue, other: HparamValue) -> bool:
    both_nan = one != one and other != other  # noqa: PLR0124 - only NaN differs from itself
    return both_nan or (one == other and isinstance(one, bool) == isinstance(other, bool))
