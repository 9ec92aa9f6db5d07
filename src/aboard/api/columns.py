# SPDX-License-Identifier: Apache-2.0
"""The binary form of curves, from the side that reads it; docs/series.md describes it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from aboard.errors import InvalidValue

MAGIC = b"ABCOLUMN"
VERSION = 1
_LENGTH = struct.Struct("<I")
_WIDTH = 8
_STEPS = {"f8": "d", "i8": "q"}


class Columns(NamedTuple):
    """What is said of one curve, and its columns as bytes: little-endian, eight bytes a number."""

    about: Mapping[str, Any]
    steps_kind: str
    """`f8` for floats or, where steps go beyond 2^53, `i8` for integers."""
    steps: memoryview
    wall_times: memoryview
    values: memoryview
    means: memoryview | None = None
    """Of what each point of a reduced curve stands for, where they were asked for."""
    counts: memoryview | None = None


def read_columns(data: bytes) -> tuple[list[Columns], list[Any]]:
    """The curves, and what is said of runs that could not be read; InvalidValue where the bytes make no sense."""
    begin = len(MAGIC) + _LENGTH.size
    if data[: len(MAGIC)] != MAGIC or len(data) < begin:
        raise InvalidValue("this is not aboard's binary form of curves")
    end = begin + _LENGTH.unpack_from(data, len(MAGIC))[0]
    try:
        head = json.loads(data[begin:end])
        if head["version"] != VERSION:
            raise InvalidValue(f"the curves are in version {head['version']}, and only {VERSION} is known")
        return list(_parts(memoryview(data)[end:], head["items"])), list(head.get("problems", []))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"the head of the curves cannot be read: {error!r}") from None


def _parts(body: memoryview, items: list[Any]) -> Iterator[Columns]:
    at = 0
    for item in items:
        about = cast("Mapping[str, Any]", item)
        length = int(about["points"]) * _WIDTH
        count = 5 if about.get("means") else 3
        if about["steps"] not in _STEPS or length < 0 or at + count * length > len(body):
            raise InvalidValue("the columns are shorter than their head says")
        parts = [body[at + column * length : at + (column + 1) * length] for column in range(count)]
        at += count * length
        yield Columns(about, str(about["steps"]), *parts)
