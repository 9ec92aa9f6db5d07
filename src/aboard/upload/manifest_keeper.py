# SPDX-License-Identifier: Apache-2.0
"""Puts the manifest when something changed or a sign of life is due, with the journal written before each."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aboard.errors import AccessDenied, KeyNotFound, StoreError
from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.store.run.claiming import SIGN_OF_LIFE_SECONDS, announce, announcements_of, withdraw_columns
from aboard.store.run.columns_object import PackedColumns, SealedDocuments
from aboard.store.run.layout import COLUMNS, RUN, SEALED
from aboard.store.run.manifest import ColumnsMark, Manifest, OutputsMark, render_manifest
from aboard.store.run.run_folder import RunFolder
from aboard.upload.conditions import Conditions
from aboard.upload.growing_files import GrowingFiles
from aboard.upload.journal import Journal, write_journal
from aboard.upload.leftovers import leftovers
from aboard.upload.standing import Standing


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
        self._columns_due: bytes | None = None
        """What the manifest names and the store may not have yet."""
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

    def put(self, files: GrowingFiles, *, status: RunState = RunState.RUNNING) -> None:
        """Put the manifest if it says anything new or a sign of life is due, then delete what it no longer names."""
        self._put(files, replace(self._manifest, files=files.rows(), status=status, sealed=False, columns=None))

    def seal(self, files: GrowingFiles, status: RunState, packed: PackedColumns | None) -> None:
        """The same for the last manifest of a run, and then the columns: who finds them knows that the run is over."""
        sealed = replace(self._manifest, files=files.rows(), status=status, sealed=True)
        if packed is not None:
            data = packed.render(self._documents(sealed))
            self._columns_due = data
            sealed = replace(sealed, columns=ColumnsMark(SEALED, len(data), zlib.crc32(data)))
        self._put(files, sealed)
        self._put_columns()

    def _documents(self, sealed: Manifest) -> SealedDocuments:
        """Copies of what is in the store. Announcements come first: what is changed later is announced later."""
        announced = announcements_of(self._folder)
        try:
            run = self._folder.store.get(self._folder.key(RUN)).decode()
        except (KeyNotFound, UnicodeDecodeError):
            run = ""  # readers ask for it, and tell what is wrong with it
        manifest = replace(sealed, serial=sealed.serial + 1, alive=now(), columns=None)
        return SealedDocuments(render_manifest(manifest).decode(), run, announced)

    def _put_columns(self) -> None:
        if self._columns_due is None:
            return
        try:
            self._folder.store.put(self._folder.key(SEALED), self._columns_due)
        except StoreError as error:
            if error.temporary:
                raise
        self._columns_due = None  # event files tell the same

    def _put(self, files: GrowingFiles, wanted: Manifest) -> None:
        if wanted != self._manifest and not self._rests(wanted):
            if not wanted.sealed:
                withdraw_columns(self._folder, self._manifest)
                self._columns_due = None
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
        """A sealed run stays so until there is something to ship, or another end to tell."""
        is_told = wanted.status in (RunState.RUNNING, self._manifest.status)
        return self._is_sealed and not wanted.sealed and is_told and wanted.files == self._manifest.files

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
