# SPDX-License-Identifier: Apache-2.0
"""Single values of a run that its name may show: hyperparameters, and the first, last or extreme value of a metric."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from aboard.model.name_template import Field, Value
from aboard.reader.hparams import HParam, own_hparams
from aboard.reader.run import RunReader, find_tag


def hparams_of(run: RunReader) -> Mapping[str, Value]:
    """The hyperparameters that were logged into the run's own folder; lists and the like as JSON."""
    return {name: _short(value) for name, value in own_hparams(run).items()}


def metric_of(run: RunReader, wanted: Field) -> Value:
    """One value of a scalar; None when there is none. NaN is no extreme unless there is nothing else."""
    tag = find_tag(run, "scalars", wanted.key)
    if tag is None:
        return None
    values = tag.points().values
    if not len(values):
        return None
    if wanted.statistic in ("first", "last"):
        return float(values[0 if wanted.statistic == "first" else -1])
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return float("nan")
    return float(numbers.min() if wanted.statistic == "min" else numbers.max())


def _short(value: HParam) -> Value:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | dict) else value
