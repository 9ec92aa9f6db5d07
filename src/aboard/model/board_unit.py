# SPDX-License-Identifier: Apache-2.0
"""The unit of a board that is a process, as the catalog knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardUnit:
    """Kept from before the unit is submitted until nothing is left of it; the board may be gone, or have another."""

    unit: str
    board_id: str
    host: str
    """The home folder whose servers look after it, with the name of its machine."""
    executor: str = ""
    """Empty as long as nothing was submitted."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Of the executor when the unit was made: what the server has settled may be another thing now."""
    mirror: str = ""
    """The folder with the copies of the runs."""
    said: int = 0
    """How many bytes of its output are in the log of the board."""

    @property
    def machine(self) -> str:
        """The machine of its host."""
        return self.host.partition(":")[0]
