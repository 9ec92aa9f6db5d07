# SPDX-License-Identifier: Apache-2.0
"""A folder with runs below it, and what these are called: by their path, or by their name where they are in a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aboard.errors import DamagedDocument
from aboard.folder_files import opened_file, read_all
from aboard.model.name_template import Value
from aboard.model.uid import is_uid
from aboard.reader.stored_runs import StoredRuns

_EVENTS = "tb"  # the folder of a run's event files in a store


class RunRoot:
    """A root of a collection. One in a folder is read where it is, without links below `within`, which is above it."""

    def __init__(self, folder: Path, within: Path | None = None) -> None:
        self.folder = folder
        self._within = within
        self._runs = StoredRuns()
        self._above = folder.absolute().name  # a run of a store may itself be the root

    @property
    def renamed(self) -> int:
        """Grows when a run has another name than before."""
        return self._runs.renamed

    def name_of(self, relative: str) -> str:
        """What the runs of a folder are called, which is named from the root."""
        place = self.place_of(relative)
        if place is None:
            return relative
        return self._runs.name_of(place.run, place.logdir)

    def columns_of(self, relative: str) -> Mapping[str, Value] | None:
        """What is known of a run in a store for its name on a board; None for anything else."""
        place = self.place_of(relative)
        return None if place is None else self._runs.columns_of(place.run, place.logdir)

    def place_of(self, relative: str) -> StoredRuns.Place | None:
        """The run of a store to which a folder of event files belongs."""
        parts = relative.split("/")
        if parts[0] == _EVENTS and is_uid(self._above):
            place = StoredRuns.Place("", "/".join(parts[1:]))
            return place if self._learn(place.run) else None
        for number, part in enumerate(parts[:-1]):
            if is_uid(part) and parts[number + 1] == _EVENTS:
                place = StoredRuns.Place("/".join(parts[: number + 1]), "/".join(parts[number + 2 :]))
                return place if self._learn(place.run) else None
        return None

    def _learn(self, run: str) -> bool:
        """Read what a folder of a store says of its run, once; whether it is one."""
        if run in self._runs:
            return True
        folder = self.folder / run
        if not self._has_file(folder / "manifest.json"):
            return False
        from aboard.store.run.run_json import parse_run
        from aboard.store.run.summary import parse_summary

        uid = (run or self._above).rpartition("/")[2]
        try:
            described = parse_run(self._bytes(folder / "run.json"), f"{folder / 'run.json'}")
        except (OSError, DamagedDocument):
            described = None
        try:
            summary = parse_summary(self._bytes(folder / "summary.json"))
        except (OSError, DamagedDocument):
            summary = None
        self._runs.add(run, uid, described, summary)
        return True

    def _has_file(self, path: Path) -> bool:
        if self._within is None:
            return path.exists()
        try:
            with opened_file(self._within, str(path.relative_to(self._within))):
                return True
        except OSError:
            return False

    def _bytes(self, path: Path) -> bytes:
        if self._within is None:
            return path.read_bytes()
        with opened_file(self._within, str(path.relative_to(self._within))) as (file, state):
            return read_all(file, 0, state.st_size)
