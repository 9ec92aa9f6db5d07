# SPDX-License-Identifier: Apache-2.0
"""Lengths of time in options: 30d, 12h, 90m, 2w."""

from __future__ import annotations

from aboard.config.ages import parse_age
from aboard.errors import InvalidValue


def seconds_of(text: str, option: str) -> float:
    """How many seconds; an error names the option."""
    try:
        return parse_age(text)
    except InvalidValue as error:
        raise InvalidValue(f"{option} {error.message}", hint=error.hint) from error
