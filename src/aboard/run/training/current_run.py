# SPDX-License-Identifier: Apache-2.0
"""The run that this process has begun last: what logs for a framework joins it instead of beginning another."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aboard.run.training.run import Run

_begun: list[weakref.ref[Run]] = []


def remember(run: Run) -> None:
    """A run has begun."""
    _begun[:] = [one for one in _begun if (known := one()) is not None and known.status == "running"]
    _begun.append(weakref.ref(run))


def current_run() -> Run | None:
    """The run begun last that has not ended, if there is one."""
    for reference in reversed(_begun):
        run = reference()
        if run is not None and run.status == "running":
            return run
    return None
