# SPDX-License-Identifier: Apache-2.0
"""A handle: which unit, of which executor, and where; a text that another process can take up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from aboard.errors import InvalidValue, NewerFormat
from aboard.model.document_fields import DocumentFields
from aboard.model.uid import check_uid

_FORMAT, _VERSION = "aboard-unit", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitHandle:
    """`options` are those with which the executor was made, `place` is what it needs to find the unit; no secrets."""

    executor: str
    unit: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    place: Mapping[str, str] = field(default_factory=dict[str, str])

    def text(self) -> str:
        """One line of JSON."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "executor": self.executor,
            "unit": self.unit,
            "options": dict(self.options),
            "place": dict(self.place),
        }
        return json.dumps(document, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The handle that was written as this text."""
        try:
            document = json.loads(text)
        except ValueError:
            raise InvalidValue(f"{text[:80]!r} is not the text of a handle") from None
        fields = DocumentFields(document, "the handle")
        if fields.text("format") != _FORMAT:
            raise InvalidValue(f"{text[:80]!r} is not the text of a handle")
        version = fields.required_integer("version")
        if version != _VERSION:
            raise NewerFormat(f"the handle has version {version}; this aboard knows {_VERSION}", hint="upgrade aboard")
        return cls(
            executor=fields.required_text("executor"),
            unit=check_uid(fields.required_text("unit")),
            options=fields.mapping("options"),
            place={name: str(value) for name, value in fields.mapping("place").items()},
        )
