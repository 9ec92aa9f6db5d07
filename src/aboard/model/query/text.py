# SPDX-License-Identifier: Apache-2.0
"""A filter's tree as text again: in one spelling, and with times that mean the same in every zone."""

from __future__ import annotations

import json
import re
from datetime import timedelta

from aboard.model.query.syntax import (
    Among,
    And,
    Column,
    Comparison,
    Field,
    Hparam,
    IsNan,
    IsNone,
    Metric,
    Moment,
    Not,
    Or,
    Order,
    Query,
    Tag,
    TextMatch,
    Value,
)
from aboard.model.times import time_text

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_PLAIN_NAME = re.compile(r"\w(?:[\w/:@%+-]*\w)?(?:\.\w(?:[\w/:@%+-]*\w)?)*")


def query_text(query: Query) -> str:
    """The text from which the parser makes this very tree."""
    if (negated := _negated(query)) is not None:
        return negated
    match query:
        case And(parts):
            return " and ".join(_in_brackets(part, And, Or) for part in parts)
        case Or(parts):
            return " or ".join(_in_brackets(part, Or) for part in parts)
        case Not(part=IsNone(field)):
            return f"{_field(field)} is not none"
        case Not(part):
            return f"not {_in_brackets(part, And, Or)}"
        case Comparison(field, order, value):
            return f"{_field(field)} {order} {value_text(value)}"
        case Among(field, values):
            return f"{_field(field)} in [{', '.join(map(value_text, values))}]"
        case TextMatch(field, pattern, text):
            return f"{_field(field)} {pattern} {_quoted(text)}"
        case IsNone(field):
            return f"{_field(field)} is none"
        case IsNan(field):
            return f"{_field(field)} is nan"


def value_text(value: Value) -> str:
    """A value as a filter has it, on one line."""
    match value:
        case bool():
            return json.dumps(value)
        case str():
            return _quoted(value)
        case Moment(at=None, offset=offset):
            return _from_now(offset)
        case Moment():
            assert value.at is not None
            return _quoted(time_text(value.at + value.offset))
        case _:
            return repr(value)


def _in_brackets(query: Query, *weaker: type[And | Or]) -> str:
    text = query_text(query)
    return f"({text})" if isinstance(query, weaker) and _negated(query) is None else text


def _negated(query: Query) -> str | None:
    """`!=` and the like, which the parser writes as two conditions: there is a value, and it is another one."""
    match query:
        case And((Not(part=IsNone(field)), Not(part=condition))):
            pass
        case _:
            return None
    match condition:
        case Comparison(other, Order.EQUAL, value) if other == field:
            return f"{_field(field)} != {value_text(value)}"
        case Among(other, values) if other == field:
            return f"{_field(field)} not in [{', '.join(map(value_text, values))}]"
        case TextMatch(other, pattern, text) if other == field:
            return f"{_field(field)} not {pattern} {_quoted(text)}"
        case IsNan(other) if other == field:
            return f"{_field(field)} is not nan"
        case _:
            return None


def _field(field: Field) -> str:
    match field:
        case Column(name):
            return name
        case Hparam(name):
            return f"hparams.{_name(name)}"
        case Metric(name, part):
            return f"metrics.{_name(name)}.{part}"
        case Tag(name):
            return f"tags.{_name(name)}"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _from_now(offset: timedelta) -> str:
    if not offset:
        return "now"
    return f"now {'-' if offset < timedelta() else '+'} {abs(offset).total_seconds()!r}s"


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPED)}"'
