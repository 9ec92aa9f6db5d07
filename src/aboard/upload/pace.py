# SPDX-License-Identifier: Apache-2.0
"""How long to wait between looks at the folders: a second; longer where looking is costly or the store fails."""

from __future__ import annotations

import random

USUAL_SECONDS = 1.0
LONGEST_SECONDS = 60.0
LOOKING_SHARE = 0.1


class Pace:
    """The pauses of one loop, `usual_seconds` while all is well."""

    def __init__(self, usual_seconds: float = USUAL_SECONDS) -> None:
        self._usual_seconds = usual_seconds
        self._failures = 0

    def after_success(self, looking_seconds: float) -> float:
        """Looking takes at most a tenth of the time."""
        self._failures = 0
        return max(self._usual_seconds - looking_seconds, looking_seconds / LOOKING_SHARE, 0.05)

    def after_failure(self) -> float:
        """Twice as long each time, up to a minute, and never in step with others."""
        self._failures += 1
        longest = min(LONGEST_SECONDS, self._usual_seconds * 2.0 ** min(self._failures, 10))
        return longest * random.uniform(0.5, 1.0)
