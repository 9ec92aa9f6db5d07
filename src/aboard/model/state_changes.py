# SPDX-License-Identifier: Apache-2.0
"""Legal changes of states: a table of what may follow what, and the error for all else."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import TypeVar

from aboard.errors import Conflict, InvalidValue

State = TypeVar("State", bound=StrEnum)


def check_change(what: str, changes: Mapping[State, AbstractSet[State]], old: State, new: State) -> None:
    """Refuse a change that the table does not have. Staying the same is no change, and allowed."""
    if new == old or new in changes[old]:
        return
    allowed = ", ".join(sorted(changes[old])) or "nothing"
    raise Conflict(f"{what} is {old} and cannot become {new}", hint=f"from {old} it can become: {allowed}")


def state_from(states: type[State], text: object, what: str) -> State:
    """The state of that name, in capitals or not."""
    try:
        return states(str(text).lower())
    except ValueError:
        raise InvalidValue(f"{text!r} is not a state of {what}", hint=f"states are: {', '.join(states)}") from None
