# SPDX-License-Identifier: Apache-2.0
"""Lengths of time as people write them: 30d, 12h, 90m, 2w."""

from __future__ import annotations

import math
import re

from aboard.errors import InvalidValue

_FORM = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>s|m|h|d|w)", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds_of(text: str, option: str) -> float:
    """How many seconds; an error names the option."""
    found = _FORM.fullmatch(text.strip())
    seconds = float(found["number"]) * _SECONDS[found["unit"].lower()] if found else math.nan
    if not math.isfinite(seconds):
        raise InvalidValue(f"{option} {text!r} is not a length of time", hint="write 30d, 12h, 90m or 2w")
    return seconds
