# SPDX-License-Identifier: Apache-2.0
"""The work of a shipper, one step at a time: looks, ships, seals. Raises when the store fails; knows no loops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from aboard.model.run import Run
from aboard.model.run_states import RunState
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.columns_object import PackedColumns
from aboard.store.run.run_folder import RunFolder
from aboard.store.run.summary import Summary, render_summary
from aboard.upload.arrival import arrive
from aboard.upload.conditions import Conditions
from aboard.upload.delivery import Delivery
from aboard.upload.failures import Superseded
from aboard.upload.growing_files import GrowingFiles
from aboard.upload.growing_lane import GrowingLane
from aboard.upload.journal import Journal, read_journal, write_journal
from aboard.upload.manifest_keeper import ManifestKeeper
from aboard.upload.output_lane import OutputLane
from aboard.upload.packing import packed_columns
from aboard.upload.scan import Found, Scan, scan
from aboard.upload.shipping_state import ShippingState
from aboard.upload.spool import Spool

OTHER_ATTEMPT_SECONDS = 15.0
SUMMARY_SECONDS = 10.0
RECENT_SECONDS = 0.9


class _Lanes(NamedTuple):
    growing: GrowingLane
    outputs: OutputLane


class Transfer:
    """One attempt of one run on its way into one store. The growing files and the others may go on two threads."""

    def __init__(
        self,
        spool: Spool,
        folder: RunFolder,
        claim: AttemptClaim,
        run: Run | None,
        journal: str,
        summary: Callable[[], Summary | None] | None,
        monotonic: Callable[[], float],
    ) -> None:
        self.conditions = Conditions(folder.store.uri)
        self._spool = spool
        self._folder = folder
        self._claim = claim
        self._run = run
        self._journal = spool.journal(journal)
        self._summary = summary
        self._summary_put = b""
        self._summary_time = float("-inf")
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._lanes: _Lanes | None = None
        self._contact_time = float("-inf")
        self._behind: dict[str, float] = {}
        self._scan = Scan()
        self._scan_time = float("-inf")
        known = read_journal(self._journal)
        self.ended = known.status if known and known.attempt == claim.number else None
        """How the run ended, as far as is known here."""

    def look(self) -> Scan:
        """Look at the folders."""
        found = scan(self._spool)
        for path, problem in found.problems.items():
            self.conditions.wrong(path, problem)
        for path in self._scan.problems.keys() - found.problems.keys():
            self.conditions.well(path, "it can be read now, or is gone.")
        self._scan, self._scan_time = found, self._monotonic()
        self._note_behind()
        return found

    def recent_look(self) -> Scan:
        """The newest look, if it is less than a second old; else a new one."""
        return self._scan if self._monotonic() - self._scan_time < RECENT_SECONDS else self.look()

    def ship_growing(self, scan: Scan, *, final: bool = False) -> None:
        """Ship what event files and logs have more than the store."""
        lanes = self._checked_contact()
        growing = _growing(scan)
        status = (self.ended or RunState.RUNNING) if final else RunState.RUNNING
        lanes.growing.keeper.set_outputs(lanes.outputs.mark)
        while lanes.growing.round(growing, final=final, status=status):
            pass
        if final:
            lanes.growing.compact(growing, status)
        self._put_summary(final=final)
        self._note_behind()

    def ship_outputs(self, scan: Scan, *, final: bool = False) -> None:
        """Ship the other files that are ready."""
        self._contact().outputs.ship(scan, final=final)
        self._note_behind()

    def end(self, status: RunState) -> None:
        """Note how the run ended, also where no store can be reached: whoever goes on later will say it there."""
        self.ended = status
        if self._lanes is not None:
            self._lanes.growing.keeper.ended = status
        known = read_journal(self._journal)
        if known is None or known.attempt != self._claim.number:
            known = Journal(store=self._folder.store.uri, attempt=self._claim.number, serial=0)
        try:
            write_journal(self._journal, replace(known, status=status))
        except OSError as error:
            self.conditions.wrong(str(self._journal), f"The journal cannot be written: {error.strerror}.")

    def seal(self) -> None:
        """Say in the store that nothing more will come."""
        lanes = self._checked_contact()
        keeper = lanes.growing.keeper
        keeper.set_outputs(lanes.outputs.mark)
        columns = None
        if not keeper.known.sealed:
            keeper.sweep()
            columns = self._columns(lanes)
        keeper.seal(lanes.growing.files, self.ended or RunState.LOST, columns)

    def _columns(self, lanes: _Lanes) -> PackedColumns | None:
        """Folders are read as they are, and need none; nor does what is to go on soon, with little time left now."""
        if not lanes.growing.in_segments or self.ended is RunState.PREEMPTED:
            return None
        return packed_columns(self._folder, lanes.growing.files.rows(), self._scan.files)

    def left(self, scan: Scan) -> dict[str, int]:
        """Bytes that the store does not have, by source."""
        if self._lanes is None:
            return {one.source: one.identity.size for one in scan.files if one.identity.size and not one.link}
        return {**self._lanes.growing.left(_growing(scan)), **self._lanes.outputs.left(scan)}

    def state(self, *, is_superseded: bool) -> ShippingState:
        """How far it has come, by the newest look."""
        left, now = self._note_behind(), self._monotonic()
        manifest = self._lanes.growing.keeper.known if self._lanes else None
        outputs = manifest.outputs if manifest else None
        return ShippingState(
            files=len(manifest.files) + (outputs.files if outputs else 0) if manifest else 0,
            bytes=manifest.bytes if manifest else 0,
            files_left=len(left),
            bytes_left=sum(left.values()),
            seconds_behind=max((now - since for since in self._behind.values()), default=0.0),
            error=self.conditions.store_error,
            problems=self.conditions.all,
            is_sealed=bool(manifest and manifest.sealed),
            is_superseded=is_superseded,
        )

    def _note_behind(self) -> dict[str, int]:
        """Remember since when each file waits."""
        left, now = self.left(self._scan), self._monotonic()
        self._behind = {source: self._behind.get(source, now) for source in left}
        return left

    def _contact(self) -> _Lanes:
        """The first time, find out how the run stands."""
        with self._lock:
            if self._lanes is None:
                self._lanes = self._arrive()
            return self._lanes

    def _checked_contact(self) -> _Lanes:
        """Be sure that the run is still ours. For the growing files only, of which nothing is under way meanwhile."""
        lanes = self._contact()
        if self._monotonic() - self._contact_time < OTHER_ATTEMPT_SECONDS:
            return lanes
        numbers = self._folder.attempt_numbers()
        if max(numbers, default=0) > self._claim.number:
            raise Superseded
        if self._claim.number not in numbers:
            self.conditions.note(self._folder.store.uri, "the run was deleted there; it is shipped again.")
            lanes = self._lanes = self._arrive()
        self._contact_time = self._monotonic()
        return lanes

    def _arrive(self) -> _Lanes:
        journal = read_journal(self._journal)
        standing = arrive(self._folder, self._claim, self._run, journal)
        delivery = Delivery(self._folder)
        files = GrowingFiles(standing.files, standing.plans, in_segments=delivery.in_segments)
        keeper = ManifestKeeper(self._folder, standing, self._journal, self.conditions, self._monotonic)
        keeper.ended = self.ended
        self._contact_time = self._monotonic()
        self._summary_put = b""
        return _Lanes(
            GrowingLane(files, keeper, delivery, self.conditions, self._monotonic),
            OutputLane(self._folder, standing.outputs, self.conditions, self._monotonic),
        )

    def _put_summary(self, *, final: bool) -> None:
        if self._summary is None or (not final and self._monotonic() - self._summary_time < SUMMARY_SECONDS):
            return
        summary = self._summary()
        if summary is None:
            return
        rendered = render_summary(summary)
        if rendered != self._summary_put:
            self._folder.write_summary(summary)
            self._summary_put = rendered
        self._summary_time = self._monotonic()


def _growing(scan: Scan) -> list[Found]:
    return [one for one in scan.files if one.kind in {"events", "log"}]
