# SPDX-License-Identifier: Apache-2.0
"""How many entries of a series a person wants to see, in aboard's way and in TensorBoard's."""

from __future__ import annotations

from aboard.errors import InvalidValue

_HINT = "such as scalars=500,images=0; 0 stands for all"
_SHOWN_BY = {"distributions": "histograms", "timeseries": "scalars"}


def samples_of(samples: int | None, per_plugin: str | None) -> dict[str, int]:
    """The wanted number by plugin; 0 stands for all."""
    wanted = {} if samples is None else {"scalars": samples}
    for pair in (per_plugin or "").split(","):
        if not pair.strip():
            continue
        name, count = _pair(pair)
        if wanted.get(name, count) != count:
            raise InvalidValue(f"{name} is given twice, as {wanted[name]} and as {count}", hint="leave one of them out")
        wanted[name] = count
    return wanted


def _pair(text: str) -> tuple[str, int]:
    name, _, number = (part.strip() for part in text.partition("="))
    if not name or not number.isdecimal():
        raise InvalidValue(f"--samples_per_plugin takes plugin=number pairs, got {text!r}", hint=_HINT)
    if name in _SHOWN_BY:
        raise InvalidValue(f"{name} shows data of other plugins", hint=f"use {_SHOWN_BY[name]}={number}")
    return name, int(number)
