# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters: the three summaries from which TensorBoard builds its hparams table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from aboard._native import Message
from aboard.errors import InvalidType
from aboard.events.event import summary, summary_metadata, tagged_value, utf8

_STRING, _BOOL, _FLOAT64 = 1, 2, 3  # hparams DataType
_SUCCESS = 1  # hparams Status


def hparams(
    hparams: Mapping[str, object],
    metrics: Iterable[str],
    *,
    domain_discrete: Mapping[str, Sequence[object]] | None = None,
) -> tuple[bytes, bytes, bytes]:
    """The experiment (names and types), the session's start (values) and its end, in this order."""
    domains = _mapping("domain_discrete", {} if domain_discrete is None else domain_discrete)
    given = _mapping("hparams", hparams)
    _check_domains(domains, given)
    values = {str(name): _plain(value) for name, value in given.items() if value is not None}
    experiment, start, end = Message(), Message(), Message()
    for name, value in values.items():
        experiment.message(4, _parameter_info(name, value, domains.get(name)))
        start.message(1, _map_entry(name, value))
    for name in _metric_names(metrics):
        experiment.message(5, _metric_info(name))
    end.varint(1, _SUCCESS)
    return (
        _plugin_summary("_hparams_/experiment", 2, experiment),
        _plugin_summary("_hparams_/session_start_info", 3, start),
        _plugin_summary("_hparams_/session_end_info", 4, end),
    )


def _mapping(name: str, given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidType(f"{name} is {given!r} of type {type(given).__name__}; allowed is a dict")
    return cast("Mapping[str, Any]", given)


def _metric_names(metrics: object) -> list[str]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise InvalidType(f"metrics is {metrics!r} of type {type(metrics).__name__}; allowed are metric names")
    return [str(name) for name in cast("Iterable[object]", metrics)]


def _check_domains(domains: Mapping[str, object], given: Mapping[str, object]) -> None:
    for name, values in domains.items():
        if name not in given:
            known = ", ".join(map(repr, given)) or "none"
            raise InvalidType(f"domain_discrete[{name!r}] is not among the hparams; allowed: {known}")
        kind = type(_plain(given[name]))
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise InvalidType(f"domain_discrete[{name!r}] is {values!r}; allowed is a list of {kind.__name__}")
        for value in cast("Sequence[object]", values):
            if not isinstance(_plain(value), kind):
                raise InvalidType(
                    f"domain_discrete[{name!r}] contains {value!r} of type {type(value).__name__}; "
                    f"allowed is the type of hparams[{name!r}], {kind.__name__}"
                )


def _plain(given: object) -> str | bool | int | float:
    """The value as one of the types the dashboard can sort and filter."""
    value = _element(given)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return value if _fits_float(value) else str(value)
    if callable(value):
        return str(getattr(value, "__name__", value))
    return str(value)


def _element(given: Any) -> object:
    """The Python value in a numpy scalar, or in an array or tensor with one element."""
    element = given.item() if _is_single(given) else given
    # The item of a long double is itself.
    return float(element) if element.__class__ is np.longdouble else element


def _is_single(given: object) -> bool:
    # Found by what it can do: tensors of torch and jax have an item too.
    return hasattr(given, "item") and math.prod(getattr(given, "shape", (0,))) == 1


def _fits_float(value: float) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _protobuf_value(value: str | bool | float) -> Message:
    """A google.protobuf.Value."""
    message = Message()
    if isinstance(value, bool):  # before int, of which it is a subclass
        message.varint(4, value)
    elif isinstance(value, str):
        message.bytes(3, utf8(value))
    else:
        message.double(2, value)
    return message


def _parameter_info(name: str, value: str | bool | float, domain: Sequence[object] | None) -> Message:
    info = Message()
    info.bytes(1, utf8(name))
    info.varint(4, _BOOL if isinstance(value, bool) else _STRING if isinstance(value, str) else _FLOAT64)
    if domain is not None:
        values = Message()
        for choice in domain:
            values.message(1, _protobuf_value(_plain(choice)))
        info.message(5, values)
    return info


def _metric_info(name: str) -> Message:
    metric_name = Message()
    metric_name.bytes(2, utf8(name))
    info = Message()
    info.message(1, metric_name)
    return info


def _map_entry(name: str, value: str | bool | float) -> Message:
    entry = Message()
    entry.bytes(1, utf8(name))
    entry.message(2, _protobuf_value(value))
    return entry


def _plugin_summary(tag: str, field: int, content: Message) -> bytes:
    plugin_data = Message()
    plugin_data.message(field, content)
    value = tagged_value(tag)
    value.message(9, summary_metadata(plugin="hparams", content=bytes(plugin_data)))
    return summary(value)
