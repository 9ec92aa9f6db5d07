# SPDX-License-Identifier: Apache-2.0
"""Finds what there is to read below a URI: runs, which are listed by their uids, and event files that lie elsewhere.

A folder in which uids lie is the root of a store, and what is inside its runs is never listed. All other keys are; how
often, is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from aboard.errors import InvalidValue
from aboard.events.file_names import is_event_file
from aboard.model.uid import is_uid
from aboard.store.keys import check_key, join_key
from aboard.store.run.layout import REOPENED
from aboard.store.run.listing import RunListing
from aboard.store.store import Entry, Store

_BEHIND_ALL = "\U0010fffd"  # no name of a folder comes after this one


class FoundRun(NamedTuple):
    """A run, and the folder of the store that it is in; empty at the top."""

    above: str
    uid: str

    @property
    def key(self) -> str:
        """The folder of the run."""
        return join_key(self.above, self.uid)

    @classmethod
    def of(cls, key: str) -> FoundRun:
        """The run of a folder."""
        above, _, uid = key.rpartition("/")
        return cls(above, uid)


class Discovery:
    """What lies below the top of a store. `open_below` opens the store at a folder of it."""

    def __init__(self, store: Store, open_below: Callable[[str], Store]) -> None:
        self._store, self._open_below = store, open_below
        self._roots: dict[str, RunListing] = {}
        self.add_root("")

    def new_runs(self) -> list[FoundRun]:
        """Runs that were not told before, and those that were announced, in the order of their making."""
        found: list[FoundRun] = []
        for above, listing in list(self._roots.items()):
            found += [FoundRun(above, uid) for uid in listing.new()]
        return found

    def announcements_of(self, run: FoundRun) -> list[str]:
        """Markers that were left for a run."""
        listing = self._roots.get(run.above)
        return listing.announcements(run.uid) if listing else []

    @property
    def roots(self) -> set[str]:
        """Folders in which runs lie, as far as they are known."""
        return set(self._roots)

    def add_root(self, above: str) -> None:
        """Note a folder in which runs lie."""
        if above not in self._roots:
            self._roots[above] = RunListing(self._open_below(above) if above else self._store)

    def objects(self) -> list[Entry]:
        """Event files outside of runs."""
        names = self._roots[""].taken_folders()
        if not any(map(is_uid, names)):
            found = self._all_below("")
        else:
            found = (entry for name in names if _may_hold_objects(name) for entry in self._all_below(name))
        return list({entry.key: entry for entry in found}.values())

    def _all_below(self, folder: str) -> Iterator[Entry]:
        """Event files below a folder, without those of runs, whose store is noted instead."""
        start_after = ""
        while True:
            again = ""
            for entry in self._store.list(folder, start_after=start_after):
                root = _root_in(entry.key)
                if root is not None:
                    yield from self._beside_runs(root)
                    again = join_key(root, _BEHIND_ALL) if root else _BEHIND_ALL
                    break
                if is_event_file(entry.key.rpartition("/")[2]) and _is_usable(entry.key):
                    yield entry
            if not again:
                return
            start_after = again

    def _beside_runs(self, root: str) -> Iterator[Entry]:
        self.add_root(root)
        for name in self._store.list_folders(root):
            if _may_hold_objects(name):
                yield from self._all_below(join_key(root, name))


def _may_hold_objects(name: str) -> bool:
    return not is_uid(name) and name != REOPENED


def _is_usable(key: str) -> bool:
    """Whether a key can be a path on this machine, too; others wrote it."""
    try:
        check_key(key)
    except InvalidValue:
        return False
    return True


def _root_in(key: str) -> str | None:
    """The folder in a key whose next part is a uid."""
    parts = key.split("/")
    for number, part in enumerate(parts[:-1]):
        if is_uid(part):
            return "/".join(parts[:number])
    return None
