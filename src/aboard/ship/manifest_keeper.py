# SPDX-License-Identifier: Apache-2.0
"""Puts the manifest when something changed or a sign of life is due, with the journal written before each."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aboard.errors import AccessDenied, StoreError
from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.ship.conditions import Conditions
from aboard.ship.growing_files import GrowingFiles
from aboard.ship.journal import Journal, write_journal
from aboard.ship.leftovers import leftovers
from aboard.ship.standing import Standing
from aboard.store.run.claiming import SIGN_OF_LIFE_SECONDS, announce
from aboard.store.run.layout import COLUMNS, columns_path
from aboard.store.run.manifest import ColumnsMark, Manifest, OutputsMark
from aboard.store.run.run_folder import RunFolder


class ManifestKeeper:
    """The manifest of one attempt in one store, and the journal beside the local files."""

    def __init__(
        self,
        folder: RunFolder,
        standing: Standing,
        journal: Path,
        conditions: Conditions,
        monotonic: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._manifest = standing.manifest
        """The newest, which may still have to be put."""
        self.known = standing.manifest
        """The newest that the store has for certain."""
        self._is_put = standing.is_put
        self._is_sealed = standing.manifest.sealed
        self._journal = journal
        self._conditions = conditions
        self._monotonic = monotonic
        self._last_put = float("-inf")
        self._garbage = list(standing.garbage)
        self._journaled = (0, 0)
        """Serial and amount of garbage in the journal: it need not be written twice for one manifest."""
        self.ended: RunState | None = None
        """How the run ended; kept in the journal, so that a later shipper can seal it."""

    def write_journal(self, files: GrowingFiles) -> None:
        """Note what is about to be sent. A full disk costs certainty after a crash, and nothing else."""
        journal = Journal(
            store=self._folder.store.uri,
            attempt=self._manifest.attempt,
            serial=self._manifest.serial + 1,
            files=files.journaled(),
            plans={one.row.path: one.plan for one in files if one.plan},
            garbage=tuple(self._garbage),
            status=self.ended,
        )
        self._journaled = journal.serial, len(journal.garbage)
        try:
            write_journal(self._journal, journal)
        except OSError as error:
            self._conditions.wrong(str(self._journal), f"The journal cannot be written: {error.strerror}.")
        else:
            self._conditions.well(str(self._journal), "the journal is written again.")

    def discard(self, paths: list[str]) -> None:
        """Delete these when the next manifest is put."""
        self._garbage += paths

    def set_outputs(self, mark: OutputsMark | None) -> None:
        """Which list of outputs belongs to the next manifest."""
        if mark != self._manifest.outputs:
            self._change(replace(self._manifest, outputs=mark))

    def put_columns(self, data: bytes | None) -> ColumnsMark | None:
        """Put the columns that belong to the manifest that comes next; what names them there."""
        if data is None:
            return None
        path = columns_path(self._manifest.serial + 1)
        try:
            self._folder.store.put(self._folder.key(path), data)
        except StoreError as error:
            if error.temporary:
                raise
            return None  # the run must be sealed all the same
        return ColumnsMark(path, len(data), zlib.crc32(data))

    def put(self, files: GrowingFiles, *, status: RunState = RunState.RUNNING) -> None:
        """Put the manifest if it says anything new or a sign of life is due, then delete what it no longer names."""
        self._put(files, replace(self._manifest, files=files.rows(), status=status, sealed=False, columns=None))

    def seal(self, files: GrowingFiles, status: RunState, columns: ColumnsMark | None) -> None:
        """The same for the last manifest of a run."""
        self._put(files, replace(self._manifest, files=files.rows(), status=status, sealed=True, columns=columns))

    def _put(self, files: GrowingFiles, wanted: Manifest) -> None:
        if wanted != self._manifest and not self._rests(wanted):
            if self._manifest.columns and self._manifest.columns != wanted.columns:
                self._garbage.append(self._manifest.columns.path)
            self._change(wanted)
        if not self._is_put or self._is_sign_due():
            self._put_now(files)
        self._delete_garbage()

    def sweep(self) -> None:
        """Delete what crashes left behind, found by listing."""
        rows = self._manifest.files
        tops = {row.path.partition("/")[0] for row in rows}
        self._garbage += leftovers(rows, [entry.key for top in sorted(tops) for entry in self._folder.list(top)])
        self._garbage += [entry.key for entry in self._folder.list(COLUMNS)]
        self._delete_garbage()

    def _rests(self, wanted: Manifest) -> bool:
        """A sealed run stays so until there is something to ship."""
        return self._is_sealed and not wanted.sealed and wanted.files == self._manifest.files

    def _is_sign_due(self) -> bool:
        return not self._manifest.sealed and self._monotonic() - self._last_put >= SIGN_OF_LIFE_SECONDS

    def _put_now(self, files: GrowingFiles) -> None:
        if self._journaled != (self._manifest.serial + 1, len(self._garbage)):
            self.write_journal(files)
        self._change(replace(self._manifest, serial=self._manifest.serial + 1, alive=now()))
        self._folder.write_manifest(self._manifest)
        reopened, self._is_sealed = self._is_sealed and not self._manifest.sealed, self._manifest.sealed
        self._is_put, self.known = True, self._manifest
        self._last_put = self._monotonic()
        if reopened:
            announce(self._folder)

    def _change(self, manifest: Manifest) -> None:
        self._manifest, self._is_put = manifest, False

    def _delete_garbage(self) -> None:
        named = {path for row in self._manifest.files for path in row.objects()}
        if self._manifest.columns:
            named.add(self._manifest.columns.path)
        paths = [path for path in dict.fromkeys(self._garbage) if path not in named]
        if not paths:
            return
        try:
            self._folder.delete(paths)
        except AccessDenied as error:
            self._conditions.wrong(self._folder.store.uri, f"Objects that are no longer needed stay: {error.message}")
        self._garbage.clear()
