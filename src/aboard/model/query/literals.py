# SPDX-License-Identifier: Apache-2.0
"""Values in a filter: texts, numbers with or without a unit, true, false, none, nan, inf and `now - 7d`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from aboard.errors import QueryError
from aboard.model.query.lexer import Kind, Word
from aboard.model.query.syntax import Moment, Place, Value

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_CONSTANTS: dict[str, Value | None] = {
    "true": True,
    "false": False,
    "none": None,
    "null": None,
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "now": Moment(),
}
_LONGEST_NUMBER = 100


@dataclass(frozen=True, slots=True)
class Literal:
    """A value and its place; `unit` tells whether it is a span of time (s) or a size (B)."""

    value: Value | None
    place: Place
    unit: str = ""

    @property
    def is_none(self) -> bool:
        return self.value is None

    @property
    def is_nan(self) -> bool:
        return isinstance(self.value, float) and math.isnan(self.value)


class LiteralReader:
    """Reads values out of the words of one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def begins_at(self, words: Sequence[Word], at: int) -> bool:
        """Whether a value begins with this word."""
        word = words[at]
        return (
            word.kind in (Kind.TEXT, Kind.NUMBER)
            or (word.kind is Kind.NAME and word.text.lower() in _CONSTANTS)
            or (word.kind is Kind.SIGN and word.text in "+-")
        )

    def read(self, words: Sequence[Word], at: int) -> tuple[Literal, int]:
        """The value that begins there, and the index of the word after it."""
        word = words[at]
        if word.kind is Kind.TEXT:
            return Literal(word.text, word.place), at + 1
        if word.kind is Kind.NAME and isinstance(_CONSTANTS[word.text.lower()], Moment):
            return self._moment(words, at)
        return self._signed(words, at)

    def _signed(self, words: Sequence[Word], at: int) -> tuple[Literal, int]:
        sign, start = 1, words[at].place.start
        if words[at].kind is Kind.SIGN:
            sign, at = (-1 if words[at].text == "-" else 1), at + 1
        word = words[at]
        place = Place(start, word.place.end)
        if word.kind is Kind.NUMBER:
            number, unit = self._number(word)
            return Literal(sign * number, place, unit), at + 1
        if word.kind is Kind.NAME and word.text.lower() in _CONSTANTS:
            value = _CONSTANTS[word.text.lower()]
            if start == word.place.start:
                return Literal(value, place), at + 1
            if isinstance(value, float):
                return Literal(sign * value, place), at + 1
        raise QueryError("after a sign a number is missing", self._text, start, word.place.end)

    def _number(self, word: Word) -> tuple[float | int, str]:
        """The number, and `s` for a span of time or `B` for a size when it has such a unit."""
        start, end = word.place.start, word.place.end
        digits = word.text.replace("_", "")
        if len(digits) > _LONGEST_NUMBER:
            raise QueryError(f"a number has at most {_LONGEST_NUMBER} digits", self._text, start, end)
        number = int(digits) if digits.isdecimal() else float(digits)
        unit = word.unit.lower()
        if not unit:
            return number, ""
        if unit in _SECONDS:
            return number * _SECONDS[unit], "s"
        if unit in _BYTES:
            return number * _BYTES[unit], "B"
        hint = "units are s m h d w for spans of time and KB MB GB TB KiB MiB GiB TiB for sizes"
        raise QueryError(f"{word.unit!r} is not a unit", self._text, end - len(unit), end, hint=hint)

    def _moment(self, words: Sequence[Word], at: int) -> tuple[Literal, int]:
        start, end, offset = words[at].place.start, words[at].place.end, timedelta()
        if words[at + 1].kind is Kind.SIGN and words[at + 1].text in "+-":
            span, after = self._signed(words, at + 1)
            if span.unit != "s" or isinstance(span.value, (str, Moment)) or span.value is None:
                place = span.place
                raise QueryError("a span of time is missing", self._text, place.start, place.end, hint="as in now - 7d")
            offset, end, at = self._span(span.value, span.place), span.place.end, after - 1
        return Literal(Moment(offset=offset), Place(start, end)), at + 1

    def _span(self, seconds: float, place: Place) -> timedelta:
        if not abs(seconds) < 1000 * 366 * 86400:
            raise QueryError("a span of time is at most 1000 years", self._text, place.start, place.end)
        return timedelta(seconds=seconds)
