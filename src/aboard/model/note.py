# SPDX-License-Identifier: Apache-2.0
"""What a person wrote about a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text, with its author and time where they are known."""

    text: str
    author: str = ""
    written: datetime | None = None
