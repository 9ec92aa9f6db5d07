# SPDX-License-Identifier: Apache-2.0
"""A run that is looked at again and again, because more is expected of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aboard.model.run_states import RunState
from aboard.model.times import now

LOST_SECONDS = 90.0
"""Without any sign of life for so long a run is lost; one comes every 20 s. By the clock of this machine alone."""
LONG_AGO = timedelta(hours=1)
"""A sign of life older than this is not waited for: clocks of machines differ less."""
_RELOAD_SECONDS = 10.0  # summaries are written at most that often
_QUIET_SECONDS = 600.0
_SLOW_SECONDS = 60.0


@dataclass(slots=True)
class WatchedRun:
    """What is remembered between two looks."""

    uid: str
    monotonic: Callable[[], float] = time.monotonic
    etag: str = ""
    status: RunState = RunState.CREATED
    attempt: int = 0
    heard: float = field(init=False)
    """When the manifest last changed, as seen from here."""
    looked: float = float("-inf")
    loaded: float = float("-inf")
    is_stale: bool = False
    """Whether the manifest has changed since the run was last read as a whole."""

    def __post_init__(self) -> None:
        self.heard = self.monotonic()

    def is_due(self) -> bool:
        """Whether to ask for it in this round: runs of which nothing was heard for long are asked for less often."""
        silence = self.monotonic() - self.heard
        is_quiet = self.status is not RunState.RUNNING or silence > _QUIET_SECONDS
        every = _SLOW_SECONDS if is_quiet and silence > _SLOW_SECONDS else 0.0
        return self.monotonic() - self.looked >= every

    def is_worth_reading(self) -> bool:
        """Whether to read all of it again."""
        return self.is_stale and self.monotonic() - self.loaded >= _RELOAD_SECONDS

    def is_lost(self) -> bool:
        """Whether it should have given a sign of life."""
        return self.status is RunState.RUNNING and self.monotonic() - self.heard > LOST_SECONDS

    def hear(self, alive: datetime | None = None) -> None:
        """Note a sign of life; one that was given long ago is as good as none."""
        if alive is not None and now() - alive > LONG_AGO:
            self.heard = self.monotonic() - LOST_SECONDS - 1
        else:
            self.heard = self.monotonic()
