# SPDX-License-Identifier: Apache-2.0
"""How long a source folder stays in a store: as long as marks beside it say that a job needs it, and at least a week.

A job puts its mark before it is submitted, another when it begins, and takes both away when it has completed or is
forgotten. A killed job needs its source again, and one that failed may be submitted again: their marks grow old.

Who removes a source says so by a mark of its own before it looks whether it is needed, and who needs it puts its mark
before it looks for such: one of the two sees the other, whatever the order.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from aboard.errors import KeyNotFound
from aboard.model.uid import new_uid
from aboard.store.store import Entry, Store

PREFIX = "_sources"
ARCHIVE = ".tar"
SAFE_SECONDS = 7 * 86400.0
_MARKS, _BEGUN, _GOING = ".needed", ".begun", ".going"
_WAITING_SECONDS, _BEGUN_SECONDS = 366 * 86400.0, 90 * 86400.0  # nothing waits, or is tried again, for longer
_REMOVING_SECONDS, _GOING_SECONDS = 240.0, 600.0  # between the two a last request has time to be answered, or not
_LOOK_SECONDS = 0.2
_AT_ONCE = 16


@dataclass(frozen=True)
class KeptSource:
    """One source in a store, under the key that jobs are told."""

    store: Store
    key: str

    def need(self, units: Iterable[str]) -> None:
        """Have it known that jobs wait for it, before it is sent or looked for: from then on nobody takes it away."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._put_mark, units))
        # Somebody who could not see the marks may be about to remove it; but one who died is not waited for for long.
        while any(_age(going) < _GOING_SECONDS for going in self.store.list(self._beside(_GOING))):
            time.sleep(_LOOK_SECONDS)

    def begin(self, unit: str) -> None:
        """A job has it now; only who starts it again will want it once more."""
        self.store.put(self._mark(unit) + _BEGUN, b"{}")
        self.store.delete(self._mark(unit))

    def release(self, *units: str) -> None:
        """Jobs need it no more."""
        self.store.delete([key for unit in units for key in (self._mark(unit), self._mark(unit) + _BEGUN)])

    def remove_unneeded(self, age: float) -> bool:
        """Remove it if no job needs it and it is older than `age` seconds, as it is now; whether it was."""
        if not self._found().has_old(age):
            return False
        begun, going = time.monotonic(), f"{self._beside(_GOING)}/{new_uid()}"
        self.store.put(going, b"{}")
        try:
            found = self._found()
            is_needed = found.is_needed(age) or time.monotonic() - begun > _REMOVING_SECONDS
            self.store.delete([*found.old_marks(age), *([] if is_needed else [self.key])])
        finally:
            self.store.delete(going)
        return found.archive is not None and not is_needed

    def _found(self) -> _Found:
        found = _Found(marks=list(self.store.list(self._beside(_MARKS))))
        with contextlib.suppress(KeyNotFound):
            found.archive = self.store.head(self.key)
        return found

    def _put_mark(self, unit: str) -> None:
        self.store.put(self._mark(unit), b"{}")

    def _mark(self, unit: str) -> str:
        return f"{self._beside(_MARKS)}/{unit}"

    def _beside(self, kind: str) -> str:
        return f"{self.key.removesuffix(ARCHIVE)}{kind}"


@dataclass
class _Found:
    """What a listing has of one source; who submits a job puts its mark before the archive."""

    archive: Entry | None = None
    marks: list[Entry] = field(default_factory=list[Entry])

    def old_marks(self, age: float) -> list[str]:
        """Marks that nobody stands behind any more."""
        return [mark.key for mark in self.marks if _age(mark) > (_longest(mark) if self.archive else age)]

    def is_needed(self, age: float) -> bool:
        """Whether a job, or one that is just being submitted, wants it."""
        is_young = self.archive is not None and _age(self.archive) <= age
        return is_young or len(self.old_marks(age)) < len(self.marks)

    def has_old(self, age: float) -> bool:
        """Whether anything of it may go."""
        return not self.is_needed(age) or bool(self.old_marks(age))


def clean_sources(store: Store, age: float = SAFE_SECONDS) -> int:
    """Remove from a store what no job needs any more; how many sources that were."""
    sources: defaultdict[str, _Found] = defaultdict(_Found)
    left: list[str] = []
    for entry in store.list(PREFIX):
        name, dot, rest = entry.key.removeprefix(f"{PREFIX}/").partition(".")
        if dot + rest == ARCHIVE:
            sources[name].archive = entry
        elif (dot + rest).startswith(f"{_MARKS}/"):
            sources[name].marks.append(entry)
        elif (dot + rest).startswith(f"{_GOING}/") and _age(entry) > _GOING_SECONDS:
            left.append(entry.key)
    store.delete(left)
    # One listing tells which may go; only those are looked at again, in the moment before.
    going = [name for name, found in sources.items() if found.has_old(age)]
    return sum(KeptSource(store, f"{PREFIX}/{name}{ARCHIVE}").remove_unneeded(age) for name in going)


def _age(entry: Entry) -> float:
    return time.time() - entry.modified


def _longest(mark: Entry) -> float:
    return _BEGUN_SECONDS if mark.key.endswith(_BEGUN) else _WAITING_SECONDS
