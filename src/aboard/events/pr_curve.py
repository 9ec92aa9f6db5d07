# SPDX-License-Identifier: Apache-2.0
"""Precision-recall curves: counted from predictions, or given as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.event import summary, summary_metadata, tagged_value
from aboard.events.tensor import tensor_proto

_MOST_THRESHOLDS = 127  # the peers' cap, kept so that curves of several writers have the same points
_FEWEST_THRESHOLDS = 1
_SMALLEST_COUNT = 1e-7  # keeps 0 / 0 at 0


def pr_curve(
    tag: str,
    labels: NDArray[Any],
    predictions: NDArray[Any],
    *,
    num_thresholds: int = _MOST_THRESHOLDS,
    weights: ArrayLike | None = None,
) -> bytes:
    """The curve of binary labels against predicted probabilities, optionally weighted."""
    thresholds = _thresholds(num_thresholds)
    actual, predicted = _probabilities("labels", labels), _probabilities("predictions", predictions)
    if actual.size != predicted.size:
        raise InvalidValue(
            f"labels has {actual.size} elements but predictions has {predicted.size}; both must be equal"
        )
    weight = _weights(weights, predicted.size)
    bucket = np.floor(predicted * (thresholds - 1)).astype(np.int64)
    true_at = np.bincount(bucket, actual * weight, thresholds)
    false_at = np.bincount(bucket, (1 - actual) * weight, thresholds)
    # A prediction counts as positive for every threshold up to its own bucket.
    tp, fp = true_at[::-1].cumsum()[::-1], false_at[::-1].cumsum()[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(_SMALLEST_COUNT, tp + fp)
    recall = tp / np.maximum(_SMALLEST_COUNT, tp + fn)
    return _curve(tag, np.stack([tp, fp, tn, fn, precision, recall]), thresholds)


def pr_curve_raw(
    tag: str,
    tp: ArrayLike,
    fp: ArrayLike,
    tn: ArrayLike,
    fn: ArrayLike,
    precision: ArrayLike,
    recall: ArrayLike,
    *,
    num_thresholds: int = _MOST_THRESHOLDS,
) -> bytes:
    """A curve that was counted elsewhere: six rows of equal length, one value for each threshold."""
    named = {"tp": tp, "fp": fp, "tn": tn, "fn": fn, "precision": precision, "recall": recall}
    rows = {name: np.asarray(row, dtype=np.float64).reshape(-1) for name, row in named.items()}
    lengths = {row.size for row in rows.values()}
    if len(lengths) != 1 or lengths == {0}:
        sizes = ", ".join(f"{name} {row.size}" for name, row in rows.items())
        raise InvalidValue(f"the rows of the curve have these lengths: {sizes}; all six must be equal and at least 1")
    return _curve(tag, np.stack(list(rows.values())), _thresholds(num_thresholds))


def _thresholds(wanted: int) -> int:
    if wanted < _FEWEST_THRESHOLDS:
        raise InvalidValue(
            f"num_thresholds is {wanted}; allowed are integers from {_FEWEST_THRESHOLDS}, "
            f"of which at most {_MOST_THRESHOLDS} are used"
        )
    return min(wanted, _MOST_THRESHOLDS)


def _probabilities(name: str, array: NDArray[Any]) -> NDArray[np.float64]:
    if array.size == 0:
        raise InvalidValue(f"{name} is empty (shape {array.shape}); at least one element is needed")
    flat = array.reshape(-1).astype(np.float64)
    outside = flat[~((flat >= 0) & (flat <= 1))]
    if outside.size:
        raise InvalidValue(f"{name} contains {outside[0]}; allowed are numbers from 0 to 1")
    return flat


def _weights(weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    flat = np.asarray(1.0 if weights is None else weights, dtype=np.float64).reshape(-1)
    if flat.size not in (1, size):
        raise InvalidValue(
            f"weights has {flat.size} elements for {size} predictions; allowed are one for each, one, or None"
        )
    return flat


def _curve(tag: str, rows: NDArray[np.float64], num_thresholds: int) -> bytes:
    plugin_data = Message()
    plugin_data.varint(2, num_thresholds)
    value = tagged_value(tag)
    value.message(8, tensor_proto(rows.astype(np.float32)))
    value.message(9, summary_metadata(plugin="pr_curves", content=bytes(plugin_data)))
    return summary(value)
