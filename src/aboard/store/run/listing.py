# SPDX-License-Identifier: Apache-2.0
"""Finds runs in a store, and asks later only for what came since.

Uids rise with time, so new runs are listed from the last uid seen. Runs that arrive late (they trained without a
network) or are opened again would be missed; they are announced below `_reopened/`. Clocks of machines may differ by an
hour without anything being missed: so far back is looked once a minute, and otherwise only as far as runs come
unannounced. To list from a uid on also lists what is inside of all later runs; where that is more than the names of all
runs, those are listed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta

from aboard.model.names import first_uid_at, is_uid, uid_time
from aboard.model.times import now
from aboard.store.run.layout import REOPENED
from aboard.store.store import Store

CLOCK_DIFFERENCE = timedelta(hours=1)
UNANNOUNCED = timedelta(minutes=2)
FAR_BACK_SECONDS = 60.0
_OBJECTS_OF_A_RUN = 6  # at least, most often


class RunListing:
    """The runs of a store, as far as they were told already."""

    def __init__(self, store: Store, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._far_back_at = float("-inf")
        self._runs = _Seen()
        self._announcements = _Seen()
        self._announced: dict[str, list[str]] = {}
        self.announced: frozenset[str] = frozenset()
        """Those that the last call of `new` told because somebody asked to look at them again."""
        self._folders: list[str] | None = None

    def new(self) -> list[str]:
        """Uids of runs not told before, and of those to look at again, in the order of their making."""
        back = UNANNOUNCED
        if self._monotonic() - self._far_back_at >= FAR_BACK_SECONDS:
            back, self._far_back_at = CLOCK_DIFFERENCE, self._monotonic()
        start = self._runs.start(back)
        is_long = self._runs.count_from(start) * _OBJECTS_OF_A_RUN > self._runs.count
        is_whole = is_long or not start
        folders = list(self._store.list_folders(start_after="" if is_whole else start))
        self._folders = folders if is_whole else None
        found = self._runs.add(name for name in folders if is_uid(name) and name > start)
        again: set[str] = set()
        for name in [] if is_whole and REOPENED not in folders else self._new_announcements():
            uid = name.partition(".")[2]
            if is_uid(uid):
                again.add(uid)
                self._announced.setdefault(uid, []).append(name)
        self.announced = frozenset(again)
        return sorted({*found, *again})

    def taken_folders(self) -> list[str]:
        """The names of all folders beside and of the runs, as the last call of `new` has them, or listed anew."""
        folders, self._folders = self._folders, None
        return list(self._store.list_folders()) if folders is None else folders

    def _new_announcements(self) -> list[str]:
        start = self._announcements.start(CLOCK_DIFFERENCE)
        entries = self._store.list(REOPENED, start_after=f"{REOPENED}/{start}" if start else "")
        return self._announcements.add(entry.key.rpartition("/")[2] for entry in entries)

    def announcements(self, uid: str) -> list[str]:
        """The markers that were told for a run: one more means that it is to be looked at again."""
        return list(self._announced.get(uid, ()))


class _Seen:
    """Names that begin with a uid; those of the last hour are remembered one by one."""

    def __init__(self) -> None:
        self._last = ""
        self._recent: set[str] = set()
        self.count = 0

    def start(self, back: timedelta) -> str:
        """Where to list from. A uid from the future, by a wrong clock, hides nothing."""
        return first_uid_at(min(uid_time(self._last[:26]), now()) - back) if self._last else ""

    def count_from(self, start: str) -> int:
        """How many there are behind a uid of the last hour."""
        return sum(name > start for name in self._recent)

    def add(self, names: Iterable[str]) -> list[str]:
        """Those that are new."""
        fresh = [name for name in names if is_uid(name[:26]) and name not in self._recent]
        self.count += len(fresh)
        self._last = max([self._last, *fresh])
        start = self.start(CLOCK_DIFFERENCE)
        self._recent = {name for name in (*self._recent, *fresh) if name > start}
        return fresh
