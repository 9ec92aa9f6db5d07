# SPDX-License-Identifier: Apache-2.0
"""How often a run may still be started again in its unit, whoever did so up to now: its executor, or `aboard run`.

Each claim on an attempt says which attempt of its unit it is, so that the newest one tells how many there were. Starts
that a scheduler makes by itself, after preemption or the end of a node, are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from aboard.errors import DamagedDocument, StoreError
from aboard.store import Patience, open_store
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from aboard.upload import Spool

UNIT, REQUEUED = "ABOARD_UNIT_ID", "ABOARD_UNIT_REQUEUED"
_IN_UNIT = "attempt_in_unit"


@dataclass
class UnitRestarts:
    """The attempts of one unit; outside of units there are those of this process alone."""

    unit: str = ""
    requeued: int = 0
    made: int = 0

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Before anything is known of earlier attempts."""
        requeued = environ.get(REQUEUED, "")
        return cls(unit=environ.get(UNIT, ""), requeued=int(requeued) if requeued.isdecimal() else 0)

    def look(self, spool: Spool, store: str, patience: Patience) -> None:
        """Find out which attempts there were, here or in the store; who cannot be asked has told of none."""
        newest = spool.read_attempt()
        try:
            folder = RunFolder(open_store(store, read_only=True, patience=patience), spool.uid)
            number = max(folder.attempt_numbers(), default=0)
            if newest is None or number > newest.number:
                newest = folder.read_attempt(number) if number else newest
        except (StoreError, DamagedDocument):
            pass
        self.made = self._attempt_of(newest)

    def left(self, restarts: int) -> int:
        """How often the command may be started again after the start to come; below 0 when even that is too much."""
        return restarts + self.requeued - self.made

    def details(self) -> dict[str, object]:
        """What the claim on the attempt to come says of it."""
        if not self.unit:
            return {}
        # By the unit the executor of a job can be asked what became of it.
        return {"unit": self.unit, _IN_UNIT: self.made + 1}

    def _attempt_of(self, claim: AttemptClaim | None) -> int:
        if claim is None or not self.unit or claim.details.get("unit") != self.unit:
            return 0
        told = claim.details.get(_IN_UNIT)
        return told if isinstance(told, int) else 1
