# SPDX-License-Identifier: Apache-2.0
"""Sizes as people write them: 500MB, 4 GiB, 1048576."""

from __future__ import annotations

import re

from aboard.errors import InvalidValue

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Bytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{text!r} is no size", hint="write a number of bytes, or 500MB, 4GB, 4GiB")
    number, unit = match.groups()
    return int(float(number) * _UNITS[(unit or "").lower()])
