# SPDX-License-Identifier: Apache-2.0
"""Uploads the files of a run to a store while it runs, and seals the run when it has ended.

An uploader belongs to one attempt of one run and to one store. It runs in the supervisor or in a helper process, never
in the training itself, and can be killed at any moment: the next one continues where it stopped. Growing files (event
files, logs) and files that are uploaded whole (checkpoints) have a lane and a thread each, so that a large checkpoint
does not delay the curves.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from aboard.errors import AboardError, InvalidValue
from aboard.model.runs import RunRecord
from aboard.model.states import RunState, state_from
from aboard.store.run.columns import PackedColumns
from aboard.store.run.documents import AttemptClaim, Summary, render_summary
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store
from aboard.upload.growing import GrowingLane, ManifestWriter, SegmentSender
from aboard.upload.outputs import OutputLane
from aboard.upload.packing import packed_columns
from aboard.upload.recovery import Journal, read_journal, reconcile, write_journal
from aboard.upload.retries import Superseded, UploadPace, UploadProblems
from aboard.upload.scan import LocalFile, Scan, Spool, scan
from aboard.upload.segments import GrowingFiles

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True, kw_only=True)
class UploadState:
    """What is in the store and what is not, at one moment."""

    files: int = 0
    """In the store, from all attempts."""
    bytes: int = 0
    files_left: int = 0
    """That the store does not have, or not wholly."""
    bytes_left: int = 0
    seconds_behind: float = 0.0
    """Since when the oldest of these waits."""
    error: str = ""
    """Why the store takes nothing at the moment; empty when it does."""
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other things that are wrong, by file."""
    is_sealed: bool = False
    is_superseded: bool = False
    """A later attempt works on the run."""

    def __str__(self) -> str:
        text = f"{files_text(self.files)}, {bytes_text(self.bytes)} in the store"
        if self.files_left:
            text += f"; {files_text(self.files_left)}, {bytes_text(self.bytes_left)} left"
        if self.seconds_behind >= 2:
            text += f", {self.seconds_behind:.0f} s behind"
        return f"{text}: {self.error}" if self.error else text


def files_text(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def bytes_text(count: float) -> str:
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or count >= 100 else f"{count:.1f} {_UNITS[unit]}"


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
        run: RunRecord | None,
        journal: str,
        summary: Callable[[], Summary | None] | None,
        monotonic: Callable[[], float],
    ) -> None:
        self.conditions = UploadProblems(folder.store.uri)
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

    def state(self, *, is_superseded: bool) -> UploadState:
        """How far it has come, by the newest look."""
        left, now = self._note_behind(), self._monotonic()
        manifest = self._lanes.growing.keeper.known if self._lanes else None
        outputs = manifest.outputs if manifest else None
        return UploadState(
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
        standing = reconcile(self._folder, self._claim, self._run, journal)
        delivery = SegmentSender(self._folder)
        files = GrowingFiles(standing.files, standing.plans, in_segments=delivery.in_segments)
        keeper = ManifestWriter(self._folder, standing, self._journal, self.conditions, self._monotonic)
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


def _growing(scan: Scan) -> list[LocalFile]:
    return [one for one in scan.files if one.kind in {"events", "log"}]


FINAL_TRIES = 5
FINAL_PAUSE_SECONDS = 0.3
_GROWING, _OUTPUTS = "growing files", "outputs"
_log = logging.getLogger("aboard.upload")


class Uploader:
    """Uploads one attempt of one run to one store.

    `spool` is the run's folder on this machine, or a `Spool` for other layouts. `claim` and `run` are read there unless
    given. Each destination needs a `journal` name of its own. `summary` is asked for `summary.json` every ten seconds.
    Each loop has a `pace` of its own.
    """

    def __init__(
        self,
        spool: Spool | str | os.PathLike[str],
        store: Store,
        *,
        claim: AttemptClaim | None = None,
        run: RunRecord | None = None,
        journal: str = "journal",
        summary: Callable[[], Summary | None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        pace: Callable[[], UploadPace] = UploadPace,
    ) -> None:
        spool = spool if isinstance(spool, Spool) else Spool.at(spool)
        claim = claim or spool.read_attempt()
        if claim is None:
            raise InvalidValue(
                f"{spool.folder} has no attempt.json, so nobody knows which attempt is to be shipped.",
                hint="Name the folder of a run that aboard has started.",
            )
        folder = RunFolder(store, spool.uid)
        self._transfer = Transfer(spool, folder, claim, run or spool.read_run(), journal, summary, monotonic)
        self._pace = pace
        self._turns = {_GROWING: threading.Lock(), _OUTPUTS: threading.Lock()}
        self._is_superseded = False

    @property
    def state(self) -> UploadState:
        """How far shipping has come; costs no request."""
        return self._transfer.state(is_superseded=self._is_superseded)

    @property
    def ended(self) -> RunState | None:
        """How the run ended, as far as this machine knows; what `finish` says when it is not told."""
        return self._transfer.ended

    def ship_once(self) -> UploadState:
        """Ship everything that is ready now. Raises StoreError when the store refuses or cannot be reached."""
        scan = self._transfer.look()
        self._attempt(_GROWING, lambda: self._transfer.ship_growing(scan))
        self._attempt(_OUTPUTS, lambda: self._transfer.ship_outputs(scan))
        return self.state

    def run(self, stop: threading.Event) -> None:
        """Ship until `stop` is set, at most about a second behind; returns when nothing is being sent of what grows.

        A file that is just being sent whole goes on in the background; `finish` waits for it.
        """
        outputs = threading.Thread(
            target=self._loop, args=(self._ship_outputs, stop), name="aboard-ship-outputs", daemon=True
        )
        self._transfer.look()
        outputs.start()
        self._loop(self._ship_growing, stop)

    def finish(self, status: RunState | str | None = None, timeout: float | None = None) -> UploadState:
        """Ship all that is left and seal the run, within `timeout` seconds; the state then tells what is left.

        Whatever is left stays here: a later uploader with the same spool continues, also days later. `status` is how
        the run ended; without it, the status that was noted here before, or lost.
        """
        ended = state_from(RunState, status, "a run") if status is not None else self.ended or RunState.LOST
        has_turn = self._turns[_GROWING].acquire(timeout=1)  # a put may take long, and the end must be noted now
        try:
            self._transfer.end(ended)
        finally:
            if has_turn:
                self._turns[_GROWING].release()
        over = threading.Event()
        worker = threading.Thread(target=self._finish, args=(over,), name="aboard-ship-finish", daemon=True)
        worker.start()
        worker.join(timeout)
        over.set()
        if worker.is_alive():
            self._transfer.look()  # the worker may not have got there, and the caller wants to know what is left
        return self.state

    def _finish(self, over: threading.Event) -> None:
        pace, tries = self._pace(), 0
        while not over.is_set() and not self._is_superseded:
            try:
                left = self._finish_once()
            except Superseded:
                return
            except AboardError:
                over.wait(pace.after_failure())
                continue
            except Exception:
                _log.exception("Shipping failed for a reason that is a mistake in aboard.")
                return
            tries += 1
            # What is left although the store takes files cannot be read, or somebody goes on writing it.
            if not left or tries >= FINAL_TRIES:
                if self._seal():
                    return
                continue
            over.wait(FINAL_PAUSE_SECONDS)

    def _finish_once(self) -> dict[str, int]:
        scan = self._transfer.look()
        self._attempt(_GROWING, lambda: self._transfer.ship_growing(scan, final=True))
        self._attempt(_OUTPUTS, lambda: self._transfer.ship_outputs(scan, final=True))
        return self._transfer.left(self._transfer.look())

    def _seal(self) -> bool:
        try:
            self._attempt(_GROWING, self._transfer.seal)
        except (AboardError, Superseded):
            return False
        return True

    def _loop(self, ship: Callable[[], float], stop: threading.Event) -> None:
        pace, pause = self._pace(), 0.0
        while not stop.wait(pause) and not self._is_superseded:
            try:
                pause = pace.after_success(ship())
            except (AboardError, Superseded):
                pause = pace.after_failure()
            except Exception:  # whatever it is, the next look may be better, and nobody else ships these files
                _log.exception("Shipping failed for a reason that is a mistake in aboard; it is tried again.")
                pause = pace.after_failure()

    def _ship_growing(self) -> float:
        start = time.monotonic()
        scan = self._transfer.look()
        looking = time.monotonic() - start
        self._attempt(_GROWING, lambda: self._transfer.ship_growing(scan))
        return looking

    def _ship_outputs(self) -> float:
        self._attempt(_OUTPUTS, lambda: self._transfer.ship_outputs(self._transfer.recent_look()))
        return 0.0

    def _attempt(self, lane: str, work: Callable[[], None]) -> None:
        """Do one piece of work in a lane, and keep what it says about the store."""
        try:
            with self._turns[lane]:
                work()
        except Superseded:
            if not self._is_superseded:
                self._is_superseded = True
                self._transfer.conditions.superseded()
            raise
        except AboardError as error:
            self._transfer.conditions.store_failed(lane, error)
            raise
        self._transfer.conditions.store_well(lane)
