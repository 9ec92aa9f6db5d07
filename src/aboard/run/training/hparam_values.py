# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters as people have them: nested, with numbers of numpy, paths, enums and classes among them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from aboard.errors import InvalidType
from aboard.model.hparams import HparamValue, flat_hparams


def plain_hparams(given: Any) -> dict[str, HparamValue]:
    """A flat mapping of plain values from a mapping, a dataclass or a namespace of arguments."""
    return flat_hparams(cast("dict[str, object]", _plain(_as_mapping(given))))


def _as_mapping(given: Any) -> Mapping[Any, Any]:
    if isinstance(given, Mapping):
        return cast("Mapping[Any, Any]", given)
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return dataclasses.asdict(given)
    if hasattr(given, "__dict__") and not isinstance(given, type) and not callable(given):
        return cast("dict[str, Any]", vars(given))
    raise InvalidType(
        f"Hyperparameters are a mapping from names to values, not {type(given).__name__}.",
        hint='Give a dictionary such as {"lr": 0.01}, a dataclass, or what argparse returns.',
    )


def _plain(value: Any) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        # Subclasses, such as members of an IntEnum, are told as what they are.
        return value if type(value) in {bool, int, float, str, type(None)} else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in cast("list[Any]", value)]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, np.ndarray):
        return _plain(cast("Any", value).tolist())
    return str(value)
