# SPDX-License-Identifier: Apache-2.0
"""Moves the files of a run into a store while it runs, and finishes when it has ended.

A shipper belongs to one attempt of one run and one store. It runs in the supervisor or in a helper process, never in
the training itself, and can be killed at any moment: the next one goes on where it was. What grows (event files, logs)
and what is shipped whole (checkpoints) go side by side, so that a large checkpoint does not hold up the curves.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from aboard.errors import AboardError, InvalidValue
from aboard.model.run import Run
from aboard.model.run_states import RunState
from aboard.model.state_changes import state_from
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from aboard.store.run.summary import Summary
from aboard.store.store import Store
from aboard.upload.failures import Superseded
from aboard.upload.pace import Pace
from aboard.upload.shipping_state import ShippingState
from aboard.upload.spool import Spool
from aboard.upload.transfer import Transfer

FINAL_TRIES = 5
FINAL_PAUSE_SECONDS = 0.3
_GROWING, _OUTPUTS = "growing files", "outputs"
_log = logging.getLogger("aboard.upload")


class Shipper:
    """Ships one attempt of one run to one store.

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
        run: Run | None = None,
        journal: str = "journal",
        summary: Callable[[], Summary | None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        pace: Callable[[], Pace] = Pace,
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
    def state(self) -> ShippingState:
        """How far shipping has come; costs no request."""
        return self._transfer.state(is_superseded=self._is_superseded)

    @property
    def ended(self) -> RunState | None:
        """How the run ended, as far as this machine knows; what `finish` says when it is not told."""
        return self._transfer.ended

    def ship_once(self) -> ShippingState:
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

    def finish(self, status: RunState | str | None = None, timeout: float | None = None) -> ShippingState:
        """Ship all that is left and seal the run, within `timeout` seconds; the state then tells what is left.

        Whatever is left stays here: a later shipper with the same spool goes on, also days later. `status` is how the
        run ended; without it, what was noted here before, or lost.
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
