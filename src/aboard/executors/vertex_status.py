# SPDX-License-Identifier: Apache-2.0
"""What a CustomJob of Vertex AI says about a unit."""

from __future__ import annotations

import re
from typing import Any

from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason, UnitStatus, state_after

_LIVE = {
    "JOB_STATE_QUEUED": UnitState.PENDING,
    "JOB_STATE_PENDING": UnitState.PENDING,
    "JOB_STATE_PAUSED": UnitState.PENDING,
    "JOB_STATE_RUNNING": UnitState.RUNNING,
    "JOB_STATE_UPDATING": UnitState.RUNNING,
    "JOB_STATE_CANCELLING": UnitState.STOPPING,
}
_ENDS = {
    "JOB_STATE_SUCCEEDED": EndReason.COMPLETED,
    "JOB_STATE_PARTIALLY_SUCCEEDED": EndReason.COMPLETED,
    "JOB_STATE_CANCELLED": EndReason.STOPPED,
    "JOB_STATE_EXPIRED": EndReason.TIMEOUT,
    "JOB_STATE_FAILED": EndReason.EXITED,
}
_EXIT_CODE = re.compile(r"non-zero status of (\d+)")
_TIMEOUT = re.compile(r"timeout|timed out|exceeded .*time", re.IGNORECASE)
_NOT_STARTED = re.compile(r"image|permission|not found|quota|resources are insufficient", re.IGNORECASE)


def vertex_status(job: Any) -> UnitStatus:
    """The status of the unit that is this job."""
    state, said = job.state.name, str(job.error.message or "")
    if state in _LIVE:
        return UnitStatus(state=_LIVE[state], message=said, started=_time(job.start_time))
    reason = _ENDS.get(state, EndReason.LOST)
    code = 0 if reason is EndReason.COMPLETED else None
    if reason is EndReason.EXITED:
        found = _EXIT_CODE.search(said)
        code = int(found[1]) if found else None
        if code is None and _TIMEOUT.search(said):
            reason = EndReason.TIMEOUT
        elif code is None and not job.start_time and _NOT_STARTED.search(said):
            reason = EndReason.NOT_STARTED
    longest = job.job_spec.scheduling.timeout
    if reason is EndReason.TIMEOUT and longest and not said:
        said = f"its time of {longest.total_seconds():g} s was over"
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=said or ("" if reason in {EndReason.COMPLETED, EndReason.STOPPED} else state),
        exit_code=code,
        started=_time(job.start_time),
        ended=_time(job.end_time),
    )


def _time(moment: Any) -> Any:
    return moment or None
