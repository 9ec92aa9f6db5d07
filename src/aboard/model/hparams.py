# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters: one flat mapping from dotted names to plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from aboard.errors import InvalidType
from aboard.model.documents import number_in_text, to_json_number

# A list stands as its JSON text; a mapping is taken apart.
HparamValue: TypeAlias = bool | int | float | str | None
_DEEPEST = 20  # what is nested deeper stands as its JSON text, like a list


def flat_hparams(nested: Mapping[str, object]) -> dict[str, HparamValue]:
    """Nested mappings as dotted names: `{"optimizer": {"lr": 0.1}}` becomes `{"optimizer.lr": 0.1}`."""
    return dict(_flattened(nested, ()))


def hparams_from_json(document: Mapping[str, object]) -> dict[str, HparamValue]:
    """As `flat_hparams`, for values read from JSON, where some numbers stand as text."""
    return {name: _number_or(value) for name, value in flat_hparams(document).items()}


def hparams_to_json(hparams: Mapping[str, HparamValue]) -> dict[str, object]:
    """A mapping that JSON can hold and `hparams_from_json` reads back."""
    return {
        name: to_json_number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
        for name, value in hparams.items()
    }


def _flattened(nested: Mapping[str, object], above: tuple[str, ...]) -> Iterator[tuple[str, HparamValue]]:
    for key, value in nested.items():
        path = (*above, str(key))
        if isinstance(value, Mapping) and value and len(path) < _DEEPEST:
            yield from _flattened(cast("Mapping[str, object]", value), path)
        else:
            yield ".".join(path), _plain(".".join(path), cast("object", value))


def _plain(name: str, value: object) -> HparamValue:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, Mapping)):
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            pass
    kind = type(cast("object", value)).__name__
    hint = "use numbers, text, true or false, none, lists and mappings of these"
    raise InvalidType(f"the hyperparameter {name!r} is a {kind}", hint=hint)


def _number_or(value: HparamValue) -> HparamValue:
    if not isinstance(value, str):
        return value
    number = number_in_text(value)
    return value if number is None else number
