# SPDX-License-Identifier: Apache-2.0
"""Orders in which runs are listed: `-created`, `metrics.val_loss.min`, `hparams.lr desc`."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.errors import QueryError
from aboard.model.query.fields import parse_field
from aboard.model.query.syntax import Column, ColumnKind, Field, Tag


@dataclass(frozen=True, slots=True)
class Sort:
    """A field and a direction. Runs without a value, or with NaN, come last either way; numbers come before texts."""

    field: Field
    descending: bool = False


NEWEST_FIRST = Sort(Column("number", ColumnKind.NUMBER), descending=True)


def parse_sort(text: str) -> Sort:
    """The order that `text` names: a field with a minus before it, or with `asc` or `desc` after it."""
    name, descending = text.strip(), False
    if name.startswith("-"):
        name, descending = name[1:], True
    elif len(words := name.rsplit(None, 1)) == 2 and words[1].lower() in ("asc", "desc"):
        name, descending = words[0], words[1].lower() == "desc"
    field = parse_field(name)
    if isinstance(field, Tag) or field == Column("note", ColumnKind.TEXT):
        return _refuse(text)
    return Sort(field, descending)


def _refuse(text: str) -> Sort:
    hint = "sort by a column, hparams.NAME or metrics.NAME.last"
    raise QueryError("runs are not sorted by tags or notes", text, 0, len(text), hint=hint)
