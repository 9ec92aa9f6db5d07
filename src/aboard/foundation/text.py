# SPDX-License-Identifier: Apache-2.0
"""Text for people: sizes, durations, times and names, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from itertools import islice

_COMPARED = 2000  # of a million tags the first ones have to do: an error must not take seconds
_SUGGESTIONS = 5


def closest_names(wanted: str, names: Iterable[str], most: int = 1, *, cutoff: float = 0.6) -> list[str]:
    """The names that look most like the wanted one, the likeliest first."""
    return difflib.get_close_matches(wanted, list(islice(names, _COMPARED)), n=most, cutoff=cutoff)


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    """The beginning of a hint, with a space at its end; empty where no name looks like the wanted one."""
    near = closest_names(wanted, names)
    return f"did you mean {near[0]!r}? " if near else ""


def nearest_names(wanted: str, names: Collection[str]) -> list[str]:
    """A few names that contain the wanted one or look like it, the likeliest first."""
    folded = wanted.casefold()
    containing = (name for name in names if folded and folded in name.casefold())
    alike = closest_names(wanted, names, _SUGGESTIONS, cutoff=0.5)
    return list(dict.fromkeys([*islice(containing, _SUGGESTIONS), *alike]))[:_SUGGESTIONS]


def nearest_hint(wanted: str, names: Collection[str], plural: str) -> str:
    """The next step for somebody whose name was not found."""
    if not names:
        return f"there are no {plural} here"
    if found := nearest_names(wanted, names):
        return "did you mean " + " or ".join(repr(name) for name in found) + "?"
    some = ", ".join(repr(name) for name in islice(names, _SUGGESTIONS))
    more = f" and {len(names) - _SUGGESTIONS} more" if len(names) > _SUGGESTIONS else ""
    return f"there are {some}{more}"


_LONGEST_NAME = 120


def size(count: int) -> str:
    """Bytes in the unit that fits: `53 B`, `1.2 kB`, `3.4 GB`."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB", "PB", "EB"):
        value /= 1000
        # What would be rounded up to a thousand stands in the next unit.
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{count} B"


def duration(seconds: float) -> str:
    """Two units at most: `1.5 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days:,} d {hours} h" if hours else f"{days:,} d"


def local_time(wall_time: float) -> str:
    """A wall time on the clock of this machine; as a number where no calendar has it."""
    try:
        return datetime.fromtimestamp(wall_time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{wall_time:g}"


def utc_time(wall_time: float) -> str | None:
    """A wall time as RFC 3339; nothing where no calendar has it."""
    if not math.isfinite(wall_time):
        return None
    try:
        return datetime.fromtimestamp(wall_time, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def plain(text: str) -> str:
    """A name from a file or a disk, safe to print: whatever would steer a terminal, or is no character, is escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def quoted(name: str) -> str:
    """A tag in quotes, not longer than a line."""
    shown = plain(name)
    return f"'{shown[:_LONGEST_NAME]}…'" if len(shown) > _LONGEST_NAME else f"'{shown}'"


def unicode_path(path: str) -> str:
    """A path as text that every reader of JSON takes: bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 file`, `1,234 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
