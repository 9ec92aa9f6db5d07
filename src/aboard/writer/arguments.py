# SPDX-License-Identifier: Apache-2.0
"""Steps and wall times as callers pass them: Python, numpy or framework numbers, checked and made plain."""

from __future__ import annotations

import math
import os
import time
from typing import Any

from aboard.errors import InvalidType, InvalidValue

_SMALLEST_STEP, _LARGEST_STEP = -(2**63), 2**63 - 1


def step_number(step: Any, default: int | None = None, argument: str = "global_step") -> int:
    """`step` as the integer that goes into the file; fractions are cut off, as both peers do."""
    if step is None:
        return 0 if default is None else default
    number = _integer(step, argument)
    if not _SMALLEST_STEP <= number <= _LARGEST_STEP:
        raise InvalidValue(f"{argument} must fit into 64 bits, got {_shown(step)}")
    return number


def _integer(step: Any, argument: str) -> int:
    if isinstance(step, (str, bytes)):
        raise InvalidType(f"{argument} must be a number, got {_shown(step)}")
    try:
        return int(step)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"{argument} must be one finite number, got {_shown(step)}") from error
    except Exception as error:  # arrays of many elements, tensors on a meta device, unrelated objects
        raise InvalidType(f"{argument} must be a number, got {_shown(step)}") from error


def wall_time(walltime: Any, default: float | None = None) -> float:
    """`walltime` in seconds since the epoch; now, when neither it nor a default is given."""
    if walltime is None:
        return time.time() if default is None else default
    try:
        seconds = float(walltime)
    except Exception as error:
        raise InvalidType(f"walltime must be seconds since the epoch, got {_shown(walltime)}") from error
    if not math.isfinite(seconds):
        raise InvalidValue(f"walltime must be finite seconds since the epoch, got {_shown(walltime)}")
    return seconds


def path_text(path: Any, argument: str) -> str:
    """`path` as text, whatever form of path it has."""
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise InvalidType(f"{argument} must be a path, got {_shown(path)}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:100]}{'…' if len(text) > 100 else ''} ({type(value).__name__})"
