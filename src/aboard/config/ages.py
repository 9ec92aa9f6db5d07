# SPDX-License-Identifier: Apache-2.0
"""Lengths of time as people write them: 30d, 12h, 90m, 2w."""

from __future__ import annotations

import math
import re

from aboard.errors import InvalidValue

_AGE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[smhdw])", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parse_age(text: str) -> float:
    """Seconds."""
    found = _AGE.fullmatch(text.strip())
    seconds = float(found["number"]) * _SECONDS[found["unit"].lower()] if found else math.inf
    if not math.isfinite(seconds):
        raise InvalidValue(f"{text!r} is not a length of time", hint="write 30d, 12h, 90m or 2w")
    return seconds
