# SPDX-License-Identifier: Apache-2.0
"""Single values of a run that its name may show: hyperparameters, and the first, last or extreme value of a metric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from aboard.board.tensorboard_parts import hparams_data_pb2, json_format, message
from aboard.model.name_template import Field, Value
from aboard.reader.run_reader import RunReader
from aboard.reader.run_tags import find_tag

_SESSION_START = "_hparams_/session_start_info"


def hparams_of(run: RunReader) -> Mapping[str, Value]:
    """The hyperparameters that were logged into the run's own folder."""
    tag = find_tag(run, "hparams", _SESSION_START)
    if tag is None:
        return {}
    try:
        data: Any = hparams_data_pb2.HParamsPluginData.FromString(tag.meaning.content)
    except message.DecodeError:
        return {}
    return {name: _plain(value) for name, value in data.session_start_info.hparams.items()}


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


def _plain(value: Any) -> Value:
    kind = value.WhichOneof("kind")
    if kind in ("number_value", "string_value", "bool_value"):
        return getattr(value, kind)
    if kind is None or kind == "null_value":
        return None
    return json.dumps(json_format.MessageToDict(value), separators=(",", ":"))
