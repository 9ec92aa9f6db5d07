# SPDX-License-Identifier: Apache-2.0
"""The layout of the custom scalars dashboard: categories of charts that join several tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.event import summary, summary_metadata, tagged_value, utf8
from aboard.events.tensor import string_tensor

_FORM = (
    "allowed is {category: {title: ['Multiline', [tag, ...]]}} "
    "or {category: {title: ['Margin', [value, lower, upper]]}}"
)
_MARGIN_TAGS = 3


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> bytes:
    """The layout as TensorBoard expects it: once for each run, under a fixed tag."""
    content = Message()
    for title, charts in _items("layout", layout):
        category = Message()
        category.bytes(1, utf8(title))
        for name, chart in _items(f"layout[{title!r}]", charts):
            category.message(2, _chart(f"layout[{title!r}][{name!r}]", name, chart))
        content.message(2, category)
    value = tagged_value("custom_scalars__config__")
    value.message(8, string_tensor([bytes(content)], []))
    value.message(9, summary_metadata(plugin="custom_scalars"))
    return summary(value)


def _items(place: str, given: object) -> list[tuple[str, object]]:
    if not isinstance(given, Mapping):
        raise InvalidValue(f"{place} is {given!r}, which is no dict; {_FORM}")
    return [(str(key), value) for key, value in cast("Mapping[object, object]", given).items()]


def _chart(place: str, title: str, given: object) -> Message:
    parts = _list(given)
    if parts is None or len(parts) != 2:
        raise InvalidValue(f"{place} is {given!r}; {_FORM}")
    kind, tags = str(parts[0]).casefold(), _tags(place, parts[1])
    chart = Message()
    chart.bytes(1, utf8(title))
    if kind == "multiline":
        chart.message(2, _multiline(tags))
    elif kind == "margin" and len(tags) == _MARGIN_TAGS:
        chart.message(3, _margin(tags))
    elif kind == "margin":
        raise InvalidValue(f"{place} has {len(tags)} tags, a margin chart needs exactly 3; {_FORM}")
    else:
        raise InvalidValue(f"{place} is a chart of kind {parts[0]!r}; {_FORM}")
    return chart


def _list(given: object) -> list[object] | None:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        return None
    return list(cast("Sequence[object]", given))


def _tags(place: str, given: object) -> list[str]:
    tags = _list(given)
    if tags is None or not all(isinstance(tag, str) for tag in tags):
        raise InvalidValue(f"{place} has the tags {given!r}, which is no list of texts; {_FORM}")
    return cast("list[str]", tags)


def _multiline(tags: list[str]) -> Message:
    content = Message()
    for tag in tags:
        content.bytes(1, utf8(tag))
    return content


def _margin(tags: list[str]) -> Message:
    series = Message()
    for field, tag in enumerate(tags, start=1):
        series.bytes(field, utf8(tag))
    content = Message()
    content.message(1, series)
    return content
