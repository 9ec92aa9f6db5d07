# SPDX-License-Identifier: Apache-2.0
"""How far shipping has come, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True, kw_only=True)
class ShippingState:
    """What is in the store and what is not, at one moment."""

    files: int = 0
    """In the store, from all attempts."""
    bytes: int = 0
    files_left: int = 0
    """That the store does not have, or not wholly."""
    bytes_left: int = 0
    seconds_behind: float = 0.0
    """Since when the oldest of these waits."""
    error: str = ""
    """Why the store takes nothing at the moment; empty when it does."""
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other things that are wrong, by file."""
    is_sealed: bool = False
    is_superseded: bool = False
    """A later attempt works on the run."""

    def __str__(self) -> str:
        text = f"{files_text(self.files)}, {bytes_text(self.bytes)} in the store"
        if self.files_left:
            text += f"; {files_text(self.files_left)}, {bytes_text(self.bytes_left)} left"
        if self.seconds_behind >= 2:
            text += f", {self.seconds_behind:.0f} s behind"
        return f"{text}: {self.error}" if self.error else text


def files_text(count: int) -> str:
    """A number of files in words."""
    return f"{count} file{'s' * (count != 1)}"


def bytes_text(count: float) -> str:
    """A number of bytes in words."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or count >= 100 else f"{count:.1f} {_UNITS[unit]}"
