# SPDX-License-Identifier: Apache-2.0
"""What SIGTERM means in a job: somebody cancelled it, its time was over, or a scheduler wants the place.

The signal is the same. Who cancels leaves a mark first, as a file where this process sees those of the submitter and
in the store elsewhere. The time of a unit counts from the moment that its executor tells, which may be long before this
process: it was started again, or its image was slow to come. Where none is told it counts from the process's own start.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

import psutil

from aboard.errors import AboardError
from aboard.model.run_states import RunState
from aboard.run.supervisor.attempt import Outcome
from aboard.store import Patience, open_store

MARK, KEY = "ABOARD_CANCEL_MARK", "ABOARD_CANCEL_OBJECT"
TIMEOUT, BEGUN, LIMIT = "ABOARD_UNIT_TIMEOUT", "ABOARD_UNIT_BEGUN", "ABOARD_UNIT_LIMIT"
_CLOCK_GRAIN = 2.0  # starts of processes are told to a second, and an executor begins to count before one is there
# Of the time that is left to ship the rest.
_AT_THE_END = Patience(connect_seconds=3, stall_seconds=5, request_seconds=5, retries=1, retry_seconds=3)


def outcome_of_sigterm(environ: Mapping[str, str], store: str, asked: float, exit_code: int) -> Outcome:
    """How a run ends that was asked to at that time; who cannot be asked has cancelled nothing."""
    if is_cancelled(environ, store):
        return cancelled_outcome(exit_code)
    if said := _time_over(environ, asked):
        return Outcome(RunState.FAILED, said, exit_code, is_final=True)
    return Outcome(RunState.PREEMPTED, "ended by SIGTERM", exit_code, is_final=True)


def cancelled_outcome(exit_code: int) -> Outcome:
    """How a run ends whose job was cancelled."""
    return Outcome(RunState.CANCELLED, "its job was cancelled", exit_code, is_final=True)


def is_marked(environ: Mapping[str, str]) -> bool:
    """Whether there is a file that says that the job was cancelled."""
    mark = environ.get(MARK)
    return bool(mark) and os.path.exists(mark)  # noqa: PTH110 - a text from the environment


def is_cancelled(environ: Mapping[str, str], store: str) -> bool:
    """Whether there is a mark of either kind; who cannot be asked has left none."""
    if not (key := environ.get(KEY)):
        return is_marked(environ)
    with contextlib.suppress(AboardError):
        return open_store(store, read_only=True, patience=_AT_THE_END).exists(key)
    return False


def _time_over(environ: Mapping[str, str], asked: float) -> str:
    """Which time was over then; empty if none was."""
    timeout, limit = (_seconds(environ.get(name, "")) for name in (TIMEOUT, LIMIT))
    if timeout is not None and asked - _begin(environ) >= timeout - _CLOCK_GRAIN:
        return f"its time of {timeout:g} s was over"
    if limit is not None and asked >= limit - _CLOCK_GRAIN:
        return "the time limit of its scheduler was reached"
    return ""


def _begin(environ: Mapping[str, str]) -> float:
    """When the time of the unit began to count; the clock of who told it may be ahead of this machine's."""
    own, told = psutil.Process().create_time(), _seconds(environ.get(BEGUN, ""))
    return own if told is None else min(own, told)


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
