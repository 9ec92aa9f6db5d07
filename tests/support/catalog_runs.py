# SPDX-License-Identifier: Apache-2.0
"""Runs to put into catalogs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from aboard.model.metric_summary import MetricPoint, MetricSummary
from aboard.model.run import Run
from aboard.model.uid import new_uid

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


def make_run(**fields: Any) -> Run:
    """A run with a new uid."""
    return Run(**{"uid": new_uid(), "workspace": "ws1", "created": START, **fields})


def metric(*values: float) -> MetricSummary:
    """The summary of a metric with these values at steps 1, 2, 3 …"""
    summary = MetricSummary.of(MetricPoint(values[0], 1, START.timestamp()))
    for step, value in enumerate(values[1:], start=2):
        summary = summary.including(MetricPoint(value, step, START.timestamp() + step))
    return summary


def hours(count: float) -> timedelta:
    return timedelta(hours=count)
