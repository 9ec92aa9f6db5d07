# SPDX-License-Identifier: Apache-2.0
"""Waiting for a job and following its output survive an executor that does not answer for a while."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import ExecutorUnavailable
from aboard.executors import Local
from aboard.jobs.job import Job
from aboard.jobs.records import JobRecord, JobRecords
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitStatus
from support.job_home import job_home

PENDING = UnitStatus(state=UnitState.PENDING, message="ImagePullBackOff: no such image")
RUNNING = UnitStatus(state=UnitState.RUNNING)
COMPLETED = UnitStatus(state=UnitState.STOPPED, reason=EndReason.COMPLETED, exit_code=0)
AWAY = ExecutorUnavailable("Response ended prematurely")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    records, unit = JobRecords(job_home(tmp_path, monkeypatch)), new_uid()
    handle = Local().handle(unit, folder=str(tmp_path)).text()
    known: dict[str, Any] = {
        "workspace": "default",
        "executor": "local",
        "command": "true",
        "created": "2026-01-01T00:00:00Z",
    }
    return Job(JobRecord(id=unit, run="train", handle=handle, **known), records=records)


def have_status(monkeypatch: pytest.MonkeyPatch, *answers: UnitStatus | Exception) -> None:
    left = list(answers)

    def status(_: Local, __: UnitHandle) -> UnitStatus:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Local, "status", status)


def test_a_wait_goes_on_after_an_outage_and_reports_it_once(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    have_status(monkeypatch, RUNNING, AWAY, AWAY, AWAY, RUNNING, COMPLETED)
    with caplog.at_level(logging.WARNING, "aboard.jobs"):
        assert job.wait().has_succeeded
    assert [record.getMessage() for record in caplog.records] == [
        "Lost the connection to local: Response ended prematurely. Retrying…",
        "Connected to local again.",
    ]


def test_an_executor_that_never_answered_is_an_error(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    have_status(monkeypatch, AWAY)
    with pytest.raises(ExecutorUnavailable):
        job.wait()
    with pytest.raises(ExecutorUnavailable):
        list(job.logs(follow=True))


def test_a_wait_says_why_nothing_starts(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    have_status(monkeypatch, PENDING, PENDING, RUNNING, COMPLETED)
    assert job.wait(until_started=True, on_message=messages.append) is RUNNING
    assert messages == ["ImagePullBackOff: no such image"]


def test_output_is_followed_from_where_the_connection_was_lost(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    have_status(monkeypatch, RUNNING)
    parts = iter([b"one two ", AWAY, b"three"])

    def logs(_: Local, __: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        assert follow
        assert start in {0, len(b"one two ")}
        for part in parts:
            if isinstance(part, Exception):
                raise part
            yield part

    monkeypatch.setattr(Local, "logs", logs)
    assert b"".join(job.logs(follow=True)) == b"one two three"
