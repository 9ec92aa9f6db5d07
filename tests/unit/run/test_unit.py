# SPDX-License-Identifier: Apache-2.0
"""What SIGTERM means in a job, by the clocks that its executor tells of."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from aboard.model.states import RunState
from aboard.run.supervisor.supervise import outcome_of_sigterm

OVER = "its time of 3600 s was over"


@pytest.mark.parametrize(
    ("told", "later", "state", "reason"),
    [
        pytest.param({}, 60, RunState.PREEMPTED, "ended by SIGTERM", id="nothing is told"),
        pytest.param({"TIMEOUT": "3600"}, 60, RunState.PREEMPTED, "ended by SIGTERM", id="by its own age, in time"),
        pytest.param({"TIMEOUT": "3600"}, 3600, RunState.FAILED, OVER, id="by its own age"),
        pytest.param({"TIMEOUT": "3600", "BEGUN": -3000}, 600, RunState.FAILED, OVER, id="begun long before"),
        pytest.param({"TIMEOUT": "3600", "BEGUN": -3000}, 590, RunState.PREEMPTED, "ended by SIGTERM", id="not yet"),
        pytest.param({"TIMEOUT": "3600", "BEGUN": 900}, 3600, RunState.FAILED, OVER, id="a clock that is ahead"),
        pytest.param({"BEGUN": -9000}, 60, RunState.PREEMPTED, "ended by SIGTERM", id="no timeout"),
        pytest.param(
            {"TIMEOUT": "3600", "LIMIT": 60},
            60,
            RunState.FAILED,
            "the time limit of its scheduler was reached",
            id="the limit of a scheduler",
        ),
        pytest.param({"LIMIT": 60}, 50, RunState.PREEMPTED, "ended by SIGTERM", id="before that limit"),
        pytest.param({"TIMEOUT": "x", "BEGUN": "", "LIMIT": "Unknown"}, 60, RunState.PREEMPTED, "ended by SIGTERM"),
    ],
)
def test_the_time_of_a_unit_counts_from_where_its_executor_says(
    tmp_path: Path, told: dict[str, str | int], later: int, state: RunState, reason: str
) -> None:
    start = psutil.Process().create_time()
    environ = {
        f"ABOARD_UNIT_{name}": value if isinstance(value, str) else str(start + value) for name, value in told.items()
    }
    outcome = outcome_of_sigterm(environ, str(tmp_path), start + later, 143)
    assert (outcome.status, outcome.reason, outcome.exit_code) == (state, reason, 143)


def test_who_cancelled_in_time_is_believed_first(tmp_path: Path) -> None:
    (tmp_path / "mark").touch()
    environ = {"ABOARD_CANCEL_MARK": str(tmp_path / "mark"), "ABOARD_UNIT_TIMEOUT": "1"}
    assert outcome_of_sigterm(environ, str(tmp_path), time.time() + 60, 143).status is RunState.CANCELLED
