# SPDX-License-Identifier: Apache-2.0
"""Spans of time as people write them: `30s`, `1h`, `1m30s`, `2d`, `90`."""

from __future__ import annotations

import re
from datetime import timedelta

from aboard.errors import InvalidValue

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII)
_LONGEST = timedelta(days=36500)


def parse_duration(given: object, what: str) -> timedelta:
    """The span that a text or a number of seconds stands for; `what` names it. It is longer than nothing."""
    span = _span(given)
    if span is None or not timedelta() < span <= _LONGEST:
        hint = "write 30s, 1m30s, 2h or 3d, or a number of seconds"
        raise InvalidValue(f"{what} is {given!r}, which is no length of time", hint=hint)
    return span


def duration_text(span: timedelta) -> str:
    """A span as it would be written."""
    left, parts = span.total_seconds(), list[str]()
    for unit in ("d", "h", "m"):
        count, left = divmod(left, _SECONDS[unit])
        parts += [f"{count:.0f}{unit}"] if count else []
    if left or not parts:
        parts.append(f"{left:g}s")
    return "".join(parts)


def _span(given: object) -> timedelta | None:
    try:
        if isinstance(given, timedelta):
            return given
        if isinstance(given, bool):
            return None
        if isinstance(given, int | float):
            return timedelta(seconds=given)
        text = str(given).strip().lower() if isinstance(given, str) else ""
        if _WHOLE.fullmatch(text):
            return timedelta(seconds=sum(float(count) * _SECONDS[unit] for count, unit in _PART.findall(text)))
        return timedelta(seconds=float(text)) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) else None
    except (OverflowError, ValueError):
        return None
