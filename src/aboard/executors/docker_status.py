# SPDX-License-Identifier: Apache-2.0
"""What the state of a container says about a unit."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aboard.executors.docker_client import Container
from aboard.model.times import parse_time
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason, UnitStatus, state_after

_LIVE = {"running": UnitState.RUNNING, "paused": UnitState.RUNNING, "restarting": UnitState.STARTING}
_STARTER = "[FATAL tini"
_NEVER = "0001-01-01"


def container_status(container: Container) -> UnitStatus:
    """The status of a unit whose container this is; why it was ended stands in its name."""
    state: dict[str, Any] = container.attrs["State"]
    word = str(container.name).partition(".")[2]
    attempt = 1 + int(container.attrs.get("RestartCount", 0))
    started, ended = _moment(state["StartedAt"]), _moment(state["FinishedAt"])
    if container.status == "created":
        if state["Error"]:
            message = str(state["Error"])
            reason = EndReason.NOT_STARTED
            return UnitStatus(state=state_after(reason), reason=reason, message=message, exit_code=state["ExitCode"])
        return UnitStatus(state=UnitState.STARTING)
    if container.status in _LIVE:
        now = UnitState.STOPPING if word else _LIVE[container.status]
        return UnitStatus(state=now, started=started, attempt=attempt)
    code = int(state["ExitCode"])
    reason, message = _end(container, word, code, killed_for_memory=bool(state["OOMKilled"]))
    if started is not None and ended is not None:
        started = min(started, ended)  # the daemon notes a start after it, so a short unit may have ended before
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=message,
        exit_code=code,
        started=started,
        ended=ended,
        attempt=attempt,
    )


def _end(container: Container, word: str, code: int, *, killed_for_memory: bool) -> tuple[EndReason, str]:
    if word == "timeout":
        return EndReason.TIMEOUT, f"its time of {container.labels.get('aboard.timeout', '?')} s was over"
    if word == "stopped":
        return EndReason.STOPPED, ""
    if killed_for_memory:
        return EndReason.OUT_OF_MEMORY, "it took more memory than it may"
    if code == 0:
        return EndReason.COMPLETED, ""
    if code in {126, 127} and (said := _complaint(container)):
        return EndReason.NOT_STARTED, said
    return EndReason.EXITED, f"exit code {code}"


def _complaint(container: Container) -> str:
    """What the first process of a container, which starts the command, says when it cannot; empty if it could."""
    last: bytes = container.logs(tail=1)
    text = last.decode(errors="replace").strip()
    return text.partition("] ")[2] if text.startswith(_STARTER) else ""


def _moment(text: str) -> datetime | None:
    # Nanoseconds are more than a moment holds.
    head, dot, rest = text.partition(".")
    digits = rest.rstrip("Z")[:6]
    return None if text.startswith(_NEVER) else parse_time(f"{head}{dot}{digits}Z" if dot else text)
