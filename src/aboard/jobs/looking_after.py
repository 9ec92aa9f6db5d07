# SPDX-License-Identifier: Apache-2.0
"""Who looks at a unit looks after it: one that was killed with all that watched it is started again, if it may be."""

from __future__ import annotations

from collections.abc import Callable

from aboard.executors.executor import Executor
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_status import UnitStatus


def looked_after(executor: Executor, handle: UnitHandle, is_wanted: Callable[[], bool]) -> UnitStatus:
    """How a unit is doing, started again where it can go on and `is_wanted` does not say otherwise."""
    status = executor.status(handle)
    if not (status.can_go_on and is_wanted() and executor.revive(handle)):
        return status
    if not is_wanted():  # somebody has cancelled it in just this moment
        executor.stop(handle)
    return executor.status(handle)
