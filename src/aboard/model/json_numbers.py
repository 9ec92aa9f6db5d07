# SPDX-License-Identifier: Apache-2.0
"""Numbers that JSON does not have: NaN, infinities and integers beyond 2^53 stand in it as text."""

from __future__ import annotations

import math
import re

from aboard.errors import InvalidValue

_EXACT = 2**53
_LONG_INTEGER = re.compile(r"-?[1-9][0-9]{15,}")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json_number(number: float) -> float | int | str:
    """A number as it stands in JSON."""
    if isinstance(number, int):
        return number if abs(number) <= _EXACT else str(number)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


def number_in_text(text: str) -> float | int | None:
    """The number that a JSON text stands for, or None: most texts are just texts."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _LONG_INTEGER.fullmatch(text) and len(text) <= 4000 and abs(int(text)) > _EXACT:
        return int(text)
    return None


def from_json_number(value: object, what: str) -> float:
    """The number that `value`, read from JSON, stands for."""
    number = number_in_text(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise InvalidValue(f"{what} is {value!r}, which is not a number")
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
