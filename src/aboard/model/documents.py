# SPDX-License-Identifier: Apache-2.0
"""Fields of JSON documents, each checked, and the numbers that JSON does not have.

NaN, infinities and integers beyond 2^53 are written as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.times import parse_time

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


_INT64 = 2**63


class DocumentFields:
    """Takes fields out of one document; what is left at the end is what nobody asked for."""

    def __init__(self, document: object, what: str) -> None:
        if not isinstance(document, Mapping):
            raise InvalidValue(f"{what} is a {type(document).__name__} and not a mapping")
        self._left = {str(key): value for key, value in cast("Mapping[object, object]", document).items()}
        self._what = what

    def text(self, name: str) -> str:
        value = self._left.pop(name, None)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def required_text(self, name: str) -> str:
        text = self.text(name)
        if not text:
            raise InvalidValue(f"{self._what} has no {name!r}")
        return text

    def time(self, name: str) -> datetime | None:
        value = self._left.pop(name, None)
        if value is None:
            return None
        try:
            return parse_time(value)
        except InvalidValue:
            raise self._wrong(name, value, "a time as in 2026-11-01T18:30:00Z") from None

    def integer(self, name: str) -> int | None:
        value = self._left.pop(name, None)
        if value is None:
            return None
        number = int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else value
        if isinstance(number, bool) or not isinstance(number, int) or not -_INT64 <= number < _INT64:
            raise self._wrong(name, value, "a whole number of at most 64 bits")
        return number

    def required_integer(self, name: str) -> int:
        number = self.integer(name)
        if number is None:
            raise InvalidValue(f"{self._what} has no {name!r}")
        return number

    def number(self, name: str) -> float:
        return from_json_number(self._left.pop(name, None), f"{name!r} of {self._what}")

    def mapping(self, name: str) -> Mapping[str, object]:
        value = self._left.pop(name, None)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self._wrong(name, value, "a mapping")
        return {str(key): entry for key, entry in cast("Mapping[object, object]", value).items()}

    def entries(self, name: str) -> list[object]:
        value = self._left.pop(name, None)
        if value is None:
            return []
        if not isinstance(value, (list, tuple)):
            raise self._wrong(name, value, "a list")
        return list(cast("list[object]", value))

    def anything(self, name: str) -> object:
        return self._left.pop(name, None)

    def rest(self) -> dict[str, object]:
        return dict(self._left)

    def _wrong(self, name: str, value: object, wanted: str) -> InvalidValue:
        return InvalidValue(f"{name!r} of {self._what} is {value!r}, which is not {wanted}")
