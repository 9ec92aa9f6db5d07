# SPDX-License-Identifier: Apache-2.0
"""`--config KEY=VALUE`: dots in keys go into what a key holds, values are JSON, lists with commas, or text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast

from aboard.errors import InvalidValue

_HOW = "write --config idle_timeout=30m, or --config tensorboard_args='[\"--samples_per_plugin=images=100\"]'"


def with_pairs(config: Mapping[str, object], pairs: Iterable[str]) -> dict[str, object]:
    """The same settings, and those of the pairs, of which later ones win."""
    found = dict(config)
    for pair in pairs:
        key, equals, text = pair.partition("=")
        parts = [part.strip() for part in key.split(".")]
        if not equals or not all(parts):
            raise InvalidValue(f"--config {pair!r} is not KEY=VALUE", hint=_HOW)
        _set(found, parts, _value(text), pair)
    return found


def _set(table: dict[str, object], parts: list[str], value: object, pair: str) -> None:
    for part in parts[:-1]:
        inner = table.get(part, {})
        if not isinstance(inner, Mapping):
            raise InvalidValue(f"--config {pair!r} goes into {part!r}, which holds {inner!r}", hint=_HOW)
        table[part] = table = dict(cast("Mapping[str, object]", inner))
    table[parts[-1]] = value


def _value(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except ValueError:
        pass
    if "," in text:
        return [_value(part.strip()) for part in text.split(",") if part.strip()]
    return text.strip()
