# SPDX-License-Identifier: Apache-2.0
"""Finds runs in a store, and asks later only for what came since.

Uids rise with time, so new runs are listed from the last uid seen. Runs that arrive late (they trained without a
network) or are opened again would be missed; they are announced below `_reopened/`. Clocks of machines may differ by an
hour without anything being missed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from aboard.model.times import now
from aboard.model.uid import first_uid_at, is_uid, uid_time
from aboard.store.run.layout import REOPENED
from aboard.store.store import Store

CLOCK_DIFFERENCE = timedelta(hours=1)


class RunListing:
    """The runs of a store, as far as they were told already."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs = _Seen()
        self._announcements = _Seen()
        self._announced: dict[str, list[str]] = {}
        self.announced: frozenset[str] = frozenset()
        """Those that the last call of `new` told because somebody asked to look at them again."""

    def new(self) -> list[str]:
        """Uids of runs not told before, and of those to look at again, in the order of their making."""
        folders = self._store.list_folders(start_after=self._runs.start())
        found = self._runs.add(name for name in folders if is_uid(name))
        start = self._announcements.start()
        entries = self._store.list(REOPENED, start_after=f"{REOPENED}/{start}" if start else "")
        announced = self._announcements.add(entry.key.rpartition("/")[2] for entry in entries)
        again: set[str] = set()
        for name in announced:
            uid = name.partition(".")[2]
            if is_uid(uid):
                again.add(uid)
                self._announced.setdefault(uid, []).append(name)
        self.announced = frozenset(again)
        return sorted({*found, *again})

    def announcements(self, uid: str) -> list[str]:
        """The markers that were told for a run: one more means that it is to be looked at again."""
        return list(self._announced.get(uid, ()))


class _Seen:
    """Names that begin with a uid; those of the last hour are remembered one by one."""

    def __init__(self) -> None:
        self._last = ""
        self._recent: set[str] = set()

    def start(self) -> str:
        """Where to list from. A uid from the future, by a wrong clock, hides nothing."""
        if not self._last:
            return ""
        return first_uid_at(min(uid_time(self._last[:26]), now()) - CLOCK_DIFFERENCE)

    def add(self, names: Iterable[str]) -> list[str]:
        """Those that are new."""
        fresh = [name for name in names if is_uid(name[:26]) and name not in self._recent]
        self._last = max([self._last, *fresh])
        start = self.start()
        self._recent = {name for name in (*self._recent, *fresh) if name > start}
        return fresh
