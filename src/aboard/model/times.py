# SPDX-License-Identifier: Apache-2.0
"""Moments: always in UTC, in text as RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from aboard.errors import InvalidValue


def now() -> datetime:
    """The present moment."""
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
