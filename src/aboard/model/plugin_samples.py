# SPDX-License-Identifier: Apache-2.0
"""How many entries of a series are shown, by the name of its plugin: `images=100,scalars=0`."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.errors import InvalidValue

FLAG = "--samples_per_plugin"
_HINT = "such as scalars=500,images=0; 0 stands for all"
_SHOWN_BY = {"distributions": "histograms", "timeseries": "scalars"}


def parse_samples(text: str, wanted: Mapping[str, int] | None = None) -> dict[str, int]:
    """The numbers by plugin that a text gives, beside those that are `wanted` already; 0 stands for all."""
    found = dict(wanted or {})
    for pair in text.split(","):
        if not pair.strip():
            continue
        name, count = _pair(pair)
        if found.get(name, count) != count:
            raise InvalidValue(f"{name} is given twice, as {found[name]} and as {count}", hint="leave one of them out")
        found[name] = count
    return found


def _pair(text: str) -> tuple[str, int]:
    name, _, number = (part.strip() for part in text.partition("="))
    if not name or not number.isdecimal() or len(number) > 18:
        raise InvalidValue(f"{FLAG} takes plugin=number pairs, got {text!r}", hint=_HINT)
    if name in _SHOWN_BY:
        raise InvalidValue(f"{name} shows data of other plugins", hint=f"use {_SHOWN_BY[name]}={number}")
    return name, int(number)
