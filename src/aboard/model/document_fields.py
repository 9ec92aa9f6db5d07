# SPDX-License-Identifier: Apache-2.0
"""Fields of a document that was read from JSON: each is checked, and an error names the one that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.json_numbers import from_json_number
from aboard.model.times import parse_time

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
