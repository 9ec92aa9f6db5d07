# SPDX-License-Identifier: Apache-2.0
"""Times and durations as text: RFC 3339 in UTC, `1m30s` and `30d`."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo

from aboard.errors import InvalidValue


def now() -> datetime:
    return datetime.now(UTC)


def time_text(moment: datetime) -> str:
    """A moment as RFC 3339 text, to the microsecond, always of the same length."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: object, *, zone: tzinfo = UTC) -> datetime:
    """A moment from RFC 3339 text, or from the shorter forms of ISO 8601; without an offset it is in `zone`."""
    try:
        moment = datetime.fromisoformat(text if isinstance(text, str) else "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write 2026-11-01, 2026-11-01 18:30 or 2026-11-01T18:30:00Z"
        raise InvalidValue(f"{text!r} is not a time", hint=hint) from None


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


_AGE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[smhdw])", re.IGNORECASE | re.ASCII)
_AGE_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parse_age(text: str) -> float:
    """Seconds."""
    found = _AGE.fullmatch(text.strip())
    seconds = float(found["number"]) * _AGE_SECONDS[found["unit"].lower()] if found else math.inf
    if not math.isfinite(seconds):
        raise InvalidValue(f"{text!r} is not a length of time", hint="write 30d, 12h, 90m or 2w")
    return seconds
