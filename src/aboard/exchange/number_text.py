# SPDX-License-Identifier: Apache-2.0
"""Numbers as text that every reader turns back into the same numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aboard.reader.hparams import HParam

_EXACT = 2**53  # integers beyond it are not exact for readers of JSON, whose numbers are doubles
_JSON_WORDS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def csv_floats(values: NDArray[np.float64]) -> list[str]:
    """The shortest text that is exactly this double; `NaN`, `inf` and `-inf`."""
    texts = list(map(repr, values.tolist()))
    return texts if not np.isnan(values).any() else ["NaN" if text == "nan" else text for text in texts]


def json_floats(values: NDArray[np.float64]) -> list[str]:
    """The shortest text that is exactly this double; NaN and infinities as strings."""
    texts = list(map(repr, values.tolist()))
    return texts if np.isfinite(values).all() else [_JSON_WORDS.get(text, text) for text in texts]


def json_integers(values: NDArray[np.int64]) -> list[str]:
    """Integers; as strings where a reader would round them."""
    texts = list(map(str, values.tolist()))
    rounded = (values > _EXACT) | (values < -_EXACT)
    return (
        texts if not rounded.any() else [f'"{text}"' if far else text for text, far in zip(texts, rounded, strict=True)]
    )


def json_plain(value: HParam) -> HParam:
    """A hyperparameter with the numbers that JSON has no words for as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return _JSON_WORDS[repr(value)].strip('"')
    if isinstance(value, dict):
        return {name: json_plain(one) for name, one in value.items()}
    return [json_plain(one) for one in value] if isinstance(value, list) else value
