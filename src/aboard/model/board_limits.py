# SPDX-License-Identifier: Apache-2.0
"""How many boards one person may have at once."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.model.board import BoardKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardLimits:
    """The most boards of one person that are not stopped; and of all people together."""

    server: int = 100
    process: int = 5
    total: int | None = None
    """Of both kinds and of everybody; None for no such limit."""

    def of(self, kind: BoardKind) -> int:
        """The most of this kind."""
        return self.server if kind is BoardKind.SERVER else self.process
