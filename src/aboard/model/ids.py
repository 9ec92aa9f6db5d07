# SPDX-License-Identifier: Apache-2.0
"""ULIDs: ids of 26 characters that never change and sort by the time they were made.

Ids made by one process rise strictly, also when several are made in one millisecond or the clock goes back. A forked
child starts with a new random part, so that it never repeats an id of its parent.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from datetime import UTC, datetime

from aboard.errors import InvalidValue

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: no I, L, O, U
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_LENGTH = 26
_RANDOM_BITS = 80
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)  # what can still be shown in every time zone
_PATTERN = re.compile(rf"[0-7][{_DIGITS}]{{25}}")


class _UidMaker:
    """Makes rising uids; one of it serves a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def make(self) -> str:
        now = time.time_ns() // 1_000_000
        with self._lock:
            # Within one millisecond, or after the clock went back, the last uid is counted up.
            fresh = (now << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
            self._last = fresh if fresh >> _RANDOM_BITS > self._last >> _RANDOM_BITS else self._last + 1
            return _text(self._last)


_maker = _UidMaker()


def _start_anew() -> None:
    global _maker
    _maker = _UidMaker()


os.register_at_fork(after_in_child=_start_anew)


def new_uid() -> str:
    """A uid that sorts after every other one that this process has made."""
    return _maker.make()


def uid_of(moment: datetime, identity: bytes) -> str:
    """The uid of something that was made elsewhere: the same each time for the same moment and 80 bits of identity."""
    if len(identity) * 8 != _RANDOM_BITS:
        raise InvalidValue(f"an identity has {_RANDOM_BITS} bits, not {len(identity) * 8}")
    milliseconds = min(max(0, int(moment.timestamp() * 1000)), (1 << 48) - 1)
    return _text((milliseconds << _RANDOM_BITS) | int.from_bytes(identity))


def uid_from_digest(digest: bytes) -> str:
    """The uid of something that has no time of its own: the same each time for the same 128 bits."""
    return _text(int.from_bytes(digest) % (1 << 128))


def is_uid(text: str) -> bool:
    """Whether `text` is a uid in its only spelling, capitals."""
    return _PATTERN.fullmatch(text) is not None


def check_uid(text: object) -> str:
    """`text` itself, if it is a uid."""
    if not isinstance(text, str) or not is_uid(text):
        hint = "a uid has 26 digits and capitals, for example 01ARZ3NDEKTSV4RRFFQ69G5FAV"
        raise InvalidValue(f"{text!r} is not a uid", hint=hint)
    return text


def uid_time(uid: str) -> datetime:
    """When a uid was made, to the millisecond; what no `datetime` can hold counts as made in the last days it can."""
    number = 0
    for digit in check_uid(uid):
        number = number * 32 + _VALUES[digit]
    return datetime.fromtimestamp(min((number >> _RANDOM_BITS) / 1000, _LATEST.timestamp()), UTC)


def first_uid_at(moment: datetime) -> str:
    """The lowest uid that can be made at a moment: where to begin in a list of them."""
    milliseconds = max(0, int(moment.timestamp() * 1000))
    return _text(milliseconds << _RANDOM_BITS)


def _text(number: int) -> str:
    digits: list[str] = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
