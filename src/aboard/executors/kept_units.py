# SPDX-License-Identifier: Apache-2.0
"""Between units and their keepers: what a keeper is told of a unit, and what its answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from aboard.errors import UnitRefused
from aboard.model.unit import UnitSpec
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason, UnitStatus, state_after

Answer = Mapping[str, Any]

# A keeper that is asked to end by anybody but aboard: the machine goes down, or gives the place to another.
_REASONS = {"signalled": EndReason.PREEMPTED}


def keeper_document(spec: UnitSpec) -> dict[str, object]:
    """What a keeper needs to know."""
    return {
        "format": "aboard-kept-unit",
        "version": 1,
        "id": spec.id,
        "name": spec.name,
        "command": list(spec.command),
        "source": spec.source,
        "environment": dict(spec.environment),
        "ports": [{"name": port.name, "number": port.number, "variable": port.variable} for port in spec.ports],
        "timeout": spec.timeout,
        "grace": spec.grace,
        "cpus": spec.resources.cpus,
        "memory": spec.resources.memory,
        "gpus": spec.resources.gpus,
        "labels": dict(spec.labels),
        "restarts": spec.restarts,
    }


def check_started(answer: Answer) -> None:
    """Raise what a keeper has refused."""
    if "refused" in answer:
        raise UnitRefused(answer["refused"], hint=answer["hint"])


def kept_status(answer: Answer) -> UnitStatus | None:
    """What a look at a unit's folder means; none when the unit was never started."""
    state: dict[str, Any] | None = answer["state"]
    if state is None:
        now = UnitState.STOPPING if answer["stop"] else UnitState.STARTING
        return UnitStatus(state=now) if answer["kept"] else None
    if "end" in state:
        return ended_status(state)
    started = _moment(state["started"])
    host, attempt = state["host"], starts_of(state)
    if not answer["kept"]:
        left = f"; {answer['strays']} of its processes still run" if answer["strays"] else ""
        message = f"its keeper on {host} died without a word, as after kill -9 or a restart of the machine{left}"
        reason = EndReason.LOST
        return UnitStatus(
            state=UnitState.LOST,
            reason=reason,
            message=message,
            started=started,
            host=host,
            attempt=attempt,
            can_go_on=bool(answer.get("may_start_again")),  # a keeper of an earlier version does not know
        )
    now = UnitState.STOPPING if answer["stop"] else UnitState.RUNNING if "pid" in state else UnitState.STARTING
    return UnitStatus(state=now, started=started, host=host, attempt=attempt)


def is_running(answer: Answer) -> bool:
    """Whether anything of the unit is left. A keeper that has written down the end is only about to go."""
    has_ended = answer["state"] is not None and "end" in answer["state"]
    return bool(answer["kept"] and not has_ended) or answer["strays"] > 0


def ended_status(state: dict[str, Any]) -> UnitStatus:
    """How a unit ended, as its keeper wrote it down."""
    end: dict[str, Any] = state["end"]
    reason = _REASONS.get(end["reason"]) or EndReason(end["reason"])
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=end["message"],
        exit_code=end["code"],
        started=_moment(state["started"]),
        ended=_moment(end["time"]),
        host=state["host"],
        attempt=starts_of(state),
    )


def starts_of(state: dict[str, Any]) -> int:
    """How often the unit was started: by keepers, and again by one keeper."""
    return int(state["attempt"]) + int(state.get("again", 0))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
