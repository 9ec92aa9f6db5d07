# SPDX-License-Identifier: Apache-2.0
"""Histograms in any buckets; the native core has the fast way for the default buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aboard._native import Message, default_histogram_edges
from aboard.errors import InvalidValue
from aboard.events.event import summary, tagged_value

Bins: TypeAlias = str | int | Sequence[float] | NDArray[Any]


def histogram(tag: str, values: NDArray[Any], bins: Bins, *, max_bins: int | None = None) -> bytes:
    """Count the values in buckets; NaN and infinities count in `num` only, as in the native core."""
    if values.size == 0:
        raise InvalidValue(f"The input has no element. values has shape {values.shape}; at least one value is needed")
    finite = _finite(values)
    counts, edges = _counted(finite, bins)
    if max_bins is not None:
        counts, edges = _joined(counts, edges, max_bins)
    limits, counts = _without_empty_ends(counts, edges, finite)
    with np.errstate(over="ignore"):  # infinity is the honest sum of such values, and no warning in training
        total, squares = float(finite.sum()), float(finite.dot(finite))
    return histogram_raw(
        tag,
        min=float(finite.min()) if finite.size else 0.0,
        max=float(finite.max()) if finite.size else 0.0,
        num=values.size,
        sum=total,
        sum_squares=squares,
        bucket_limits=limits,
        bucket_counts=counts,
    )


def histogram_raw(
    tag: str,
    *,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: ArrayLike,
    bucket_counts: ArrayLike,
) -> bytes:
    """A histogram that was counted elsewhere; `bucket_limits` are the right edges."""
    limits = np.ascontiguousarray(bucket_limits, dtype=np.float64).reshape(-1)
    counts = np.ascontiguousarray(bucket_counts, dtype=np.float64).reshape(-1)
    if limits.size != counts.size:
        raise InvalidValue(
            f"len(bucket_limits) is {limits.size} but len(bucket_counts) is {counts.size}; "
            "each bucket needs one right limit and one count, so both must be equal"
        )
    proto = Message()
    for field, number in enumerate((min, max, num, sum, sum_squares), start=1):
        proto.double(field, number)
    proto.packed_doubles(6, limits)
    proto.packed_doubles(7, counts)
    value = tagged_value(tag)
    value.message(5, proto)
    return summary(value)


def _finite(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidValue(f"values has dtype {values.dtype}; allowed are arrays of real numbers") from None
    flat = values.reshape(-1).astype(np.float64, copy=False)
    mask = np.isfinite(flat)
    return flat if mask.all() else flat[mask]


def _counted(finite: NDArray[np.float64], bins: Bins) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    wanted = default_histogram_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
    try:
        counts, edges = np.histogram(finite, bins=wanted)
    except Exception as error:  # numpy and what it is given raise many kinds
        raise InvalidValue(
            f"bins is {bins!r}, which numpy.histogram refuses ({error}); allowed are 'tensorflow', "
            "a numpy bin estimator such as 'auto', a positive number of bins, or ascending bin edges"
        ) from error
    return counts.astype(np.int64), edges.astype(np.float64)


def _joined(
    counts: NDArray[np.int64], edges: NDArray[np.float64], max_bins: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if max_bins < 1:
        raise InvalidValue(f"max_bins is {max_bins}; allowed are positive integers and None")
    if counts.size <= max_bins:
        return counts, edges
    group = counts.size // max_bins
    starts = np.arange(0, counts.size, group)
    return np.add.reduceat(counts, starts), np.append(edges[starts], edges[-1])


def _without_empty_ends(
    counts: NDArray[np.int64], edges: NDArray[np.float64], finite: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        return np.array([finite.max() if finite.size else 0.0]), np.array([0])
    start, end = int(filled[0]), int(filled[-1]) + 1
    # Only right limits are stored: an empty bucket in front carries the left edge of the first filled one.
    return edges[start : end + 1], np.concatenate([np.zeros(1, np.int64), counts[start:end]])
