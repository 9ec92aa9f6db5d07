# SPDX-License-Identifier: Apache-2.0
"""Which ends of a pod are followed by another one: those by eviction and by signals, as often as the unit allows.

A pod that was evicted is gone afterwards, and the newest one that is left may be an earlier one, which was killed.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from aboard.model.unit import UnitSpec

_KILLS = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV)
_FAILURES = "batch.kubernetes.io/job-index-failure-count"
# A Job ends within moments of its last pod, and makes another one 10 s after a failure at the earliest.
_PAUSE = timedelta(seconds=5)
_DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]


def restarts_of_job(spec: UnitSpec) -> dict[str, Any]:
    """For a Job of one unit. Its timeout is that of the Job, so who is asked to end was asked by the cluster."""
    if not spec.restarts:
        # The pod is gone then, and only the Job can say that it was not the unit's own fault.
        rule = {"action": "FailJob", "onPodConditions": _DISRUPTED}
        return {"backoffLimit": 0, "podFailurePolicy": {"rules": [rule]}}
    return {"backoffLimit": spec.restarts, **_policy("FailJob", (*_KILLS, signal.SIGTERM))}


def restarts_of_indexes(spec: UnitSpec) -> dict[str, Any]:
    """For a Job with indexes, where a timeout is the pod's own, and what it ends tells so by SIGTERM's exit code."""
    if not spec.restarts:
        return {"backoffLimitPerIndex": 0}
    signals = _KILLS if spec.timeout is not None else (*_KILLS, signal.SIGTERM)
    return {"backoffLimitPerIndex": spec.restarts, **_policy("FailIndex", signals)}


def had_another_pod(job: Any, left: int, ended: datetime | None, failed: datetime | None) -> bool:
    """Whether a Job that has used up its restarts had a pod after the newest of those `left`, which ended then."""
    is_one_gone = left <= (job.spec.backoff_limit or 0)
    return is_one_gone and ended is not None and failed is not None and failed - ended > _PAUSE


def index_had_another_pod(job: Any, told: Mapping[str, str], exit_code: int | None) -> bool:
    """Whether an index that failed had a pod after this one, whose annotations tell how often it failed before."""
    before = told.get(_FAILURES, "")
    if not before.isdecimal() or int(before) >= (job.spec.backoff_limit_per_index or 0):
        return False
    rules = [rule.on_exit_codes for rule in job.spec.pod_failure_policy.rules]
    return exit_code is not None and all(exit_code in codes.values for codes in rules if codes is not None)


def _policy(otherwise: str, signals: tuple[signal.Signals, ...]) -> dict[str, Any]:
    """The first rule that fits holds. A command that failed by itself was tried again by `aboard run` in its pod."""
    codes = sorted(128 + which for which in signals)
    disrupted = {"action": "Count", "onPodConditions": _DISRUPTED}
    failed = {"action": otherwise, "onExitCodes": {"containerName": "unit", "operator": "NotIn", "values": codes}}
    return {"podFailurePolicy": {"rules": [disrupted, failed]}}
