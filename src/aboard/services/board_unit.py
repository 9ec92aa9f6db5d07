# SPDX-License-Identifier: Apache-2.0
"""The unit of a board, found and ended through its executor by what the catalog knows of it."""

from __future__ import annotations

from aboard.errors import AboardError, UnknownName
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_of, make_executor
from aboard.model.board_unit import BoardUnit
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_states import UnitState


def executor_for(unit: BoardUnit) -> Executor:
    """The executor as it was when the unit was made."""
    return make_executor(unit.executor, unit.options)


def handle_of(unit: BoardUnit) -> UnitHandle | None:
    """The unit, if it was ever submitted: an executor finds by its id also what nobody could write down any more."""
    return executor_for(unit).find(unit.unit) if unit.executor else None


def end_unit(unit: BoardUnit, *, grace: float | None) -> bool:
    """Have a unit ended, whatever it does; whether nothing is left of it."""
    handle = handle_of(unit)
    if handle is None:
        return True
    executor = executor_of(handle)
    try:
        state = executor.status(handle).state
        if not state.is_ended or state is UnitState.LOST:  # of one that is lost, something may still run
            executor.stop(handle, grace=grace)
        if not state.is_ended:
            return False
        executor.forget(handle)
    except UnknownName:
        return True  # gone in the meantime
    except AboardError:
        return False
    return True
