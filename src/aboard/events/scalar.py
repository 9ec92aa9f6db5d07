# SPDX-License-Identifier: Apache-2.0
"""Scalars in both forms that TensorBoard reads: the compact `simple_value`, and the rank-0 tensor."""

from __future__ import annotations

import numpy as np

from aboard._native import Message
from aboard.events.metadata import SCALAR, summary_metadata
from aboard.events.summary import summary, tagged_value

_FLOAT, _DOUBLE = 1, 2  # tensorflow.DataType


def scalar(tag: str, value: float, *, display_name: str = "", description: str = "") -> bytes:
    """One float32 number; metadata is written only when it carries a text, which keeps the record small."""
    point = tagged_value(tag)
    point.float(2, value)
    if display_name or description:
        metadata = summary_metadata(
            plugin="scalars", display_name=display_name, description=description, data_class=SCALAR
        )
        point.message(9, metadata)
    return summary(point)


def scalar_tensor(tag: str, value: float, *, double: bool, display_name: str = "", description: str = "") -> bytes:
    """One number as a rank-0 tensor of the scalars plugin; `double` keeps all its digits."""
    tensor = Message()
    tensor.varint(1, _DOUBLE if double else _FLOAT)
    tensor.message(2, Message())
    if double:
        tensor.packed_doubles(6, np.array([value], np.float64))
    else:
        with np.errstate(over="ignore"):  # beyond float32 means infinity
            tensor.packed_floats(5, np.array([value], np.float64).astype(np.float32))
    point = tagged_value(tag)
    point.message(8, tensor)
    point.message(9, summary_metadata(plugin="scalars", display_name=display_name, description=description))
    return summary(point)
