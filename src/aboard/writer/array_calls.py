# SPDX-License-Identifier: Apache-2.0
"""The calls of `SummaryWriter` that log arrays: distributions, curves, meshes and plain tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aboard import events
from aboard.errors import InvalidValue
from aboard.writer.arguments import as_array, as_integer, as_number, as_real_array, checked_tag
from aboard.writer.log_folder import LogFolder


class ArrayCalls(LogFolder):
    """Arrays over steps."""

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: str | int | Sequence[float] = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of `values`, of any shape. `bins` is "tensorflow" or whatever numpy.histogram takes."""
        name, array = self._tag(tag), as_real_array(values, "values").reshape(-1)
        max_bins = None if max_bins is None else as_integer(max_bins, "max_bins")
        step, seconds = self._when(global_step, walltime)
        if array.size == 0:
            raise InvalidValue("The input has no element.", hint=f"values of histogram {name!r} must not be empty")
        if isinstance(bins, str) and bins == "tensorflow" and max_bins is None:
            narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
            flat = np.ascontiguousarray(array, dtype=np.float32 if narrow else np.float64)
            writer = self._get_file_writer()
            writer.deliver(writer.sink.add_histogram(name, flat, step, seconds))
        else:
            self._add(events.histogram.histogram(name, array, bins, max_bins=max_bins), step, seconds)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a distribution that is already counted: the right edge and the count of each bucket."""
        summary = events.histogram.histogram_raw(
            checked_tag(tag),
            min=as_number(min, "min"),
            max=as_number(max, "max"),
            num=as_number(num, "num"),
            sum=as_number(sum, "sum"),
            sum_squares=as_number(sum_squares, "sum_squares"),
            bucket_limits=as_real_array(bucket_limits, "bucket_limits"),
            bucket_counts=as_real_array(bucket_counts, "bucket_counts"),
        )
        self._add(summary, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a precision–recall curve of true `labels` and predicted probabilities."""
        summary = events.pr_curve.pr_curve(
            checked_tag(tag),
            as_real_array(labels, "labels"),
            as_real_array(predictions, "predictions"),
            num_thresholds=as_integer(num_thresholds, "num_thresholds"),
            weights=None if weights is None else as_real_array(weights, "weights"),
        )
        self._add(summary, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a precision–recall curve that is already counted. `weights` are in the counts: peers ignore them too."""
        counts = (
            as_real_array(value, name)
            for value, name in (
                (true_positive_counts, "true_positive_counts"),
                (false_positive_counts, "false_positive_counts"),
                (true_negative_counts, "true_negative_counts"),
                (false_negative_counts, "false_negative_counts"),
                (precision, "precision"),
                (recall, "recall"),
            )
        )
        self._add(
            events.pr_curve.pr_curve_raw(
                checked_tag(tag), *counts, num_thresholds=as_integer(num_thresholds, "num_thresholds")
            ),
            global_step,
            walltime,
        )

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add point clouds or meshes: `vertices`, `colors` and `faces` of shape (batch, n, 3)."""
        arrays = (
            None if part is None and name != "vertices" else as_real_array(part, name)
            for part, name in ((vertices, "vertices"), (colors, "colors"), (faces, "faces"))
        )
        self._add(events.mesh.mesh(checked_tag(tag), *arrays, config=config_dict), global_step, walltime)  # type: ignore[arg-type]

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Add an array as it is. TensorBoard shows it nowhere; readers of event files find it."""
        self._add(events.tensor.tensor_summary(checked_tag(tag), as_array(tensor, "tensor")), global_step, walltime)
