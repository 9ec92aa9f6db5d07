# SPDX-License-Identifier: Apache-2.0
"""One page of a list, as every list of the API comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """Some entries, and what to give as `after` to get those behind them; None at the end."""

    items: tuple[_T, ...]
    next: str | None = None
