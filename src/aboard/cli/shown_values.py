# SPDX-License-Identifier: Apache-2.0
"""Values as tables show them: states in capitals, local times, sizes and durations in words, `N/A` for nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import cast

EMPTY = "N/A"
PRECISION = 4
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


def shown(value: object, *, precision: int = PRECISION) -> str:
    """Any value on one line."""
    match value:
        case None | "":
            return EMPTY
        case Enum():
            return str(value).upper()
        case bool():
            return "true" if value else "false"
        case float():
            return number_text(value, precision)
        case datetime():
            return local_time(value)
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return plain(", ".join(f"{key}={one}" if one != "" else str(key) for key, one in pairs)) or EMPTY
        case list() | tuple():
            return plain(", ".join(str(one) for one in cast("Sequence[object]", value))) or EMPTY
        case _:
            return plain(str(value))


def plain(text: str) -> str:
    """A text that changes nothing about the terminal."""
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def number_text(value: float, precision: int = PRECISION) -> str:
    """A number with so many digits that count."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"{value:.{precision}g}"


def local_time(moment: datetime) -> str:
    """A moment as the clock on the wall shows it."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def duration_text(seconds: float) -> str:
    """`1d 02:03:04`, or `12.3 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours:02d}:{minutes:02d}:{rest:02d}"
    return f"{days}d {clock}" if days else clock


def bytes_text(count: float) -> str:
    """`12.3 MB`."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or count >= 100 else f"{count:.1f} {_UNITS[unit]}"
