# SPDX-License-Identifier: Apache-2.0
"""How often an open board looks for runs that joined, left or were renamed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPace:
    """Seconds between two looks at the catalog. A look that takes long is followed by a longer rest."""

    live: float = 1.0
    """Of a board whose selection may grow, or one of whose runs has not ended."""
    fixed: float = 3.0
    """Of all others: their runs are renamed or deleted, which is rare."""
