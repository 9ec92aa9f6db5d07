# SPDX-License-Identifier: Apache-2.0
"""Runs to put into catalogs."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from aboard.catalog.catalog import Catalog
from aboard.catalog.paging import ResultPage
from aboard.model.names import new_uid
from aboard.model.runs import Attempt, MetricPoint, MetricSummary, Note, RunRecord
from aboard.model.states import RunState

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


def make_run(**fields: Any) -> RunRecord:
    """A run with a new uid."""
    return RunRecord(**{"uid": new_uid(), "workspace": "ws1", "created": START, **fields})


def metric(*values: float) -> MetricSummary:
    """The summary of a metric with these values at steps 1, 2, 3 …"""
    summary = MetricSummary.of(MetricPoint(values[0], 1, START.timestamp()))
    for step, value in enumerate(values[1:], start=2):
        summary = summary.including(MetricPoint(value, step, START.timestamp() + step))
    return summary


def hours(count: float) -> timedelta:
    return timedelta(hours=count)


WHOLE = make_run(
    name="baseline",
    experiment="First Try",
    user="ann",
    host="node7",
    store="s3://bucket/runs",
    status=RunState.FAILED,
    started=START + hours(1),
    ended=START + hours(3),
    heartbeat=START + hours(2),
    updated=START + hours(4),
    revision=4,
    exit_code=137,
    reason="killed",
    files=12,
    bytes=2**40,
    hparams={
        "lr": 0.01,
        "epochs": 2500,
        "amp": True,
        "opt.name": "adam",
        "none": None,
        "nan": math.nan,
        "inf": -math.inf,
        "seed": 2**60 + 1,
        "long": "x" * 10_000,
        "k" * 600: 1,
        "größe 🎈": "täxt",
    },
    metrics={"loss": metric(3.0, 1.0, math.nan), "val/acc": metric(0.5)},
    tags={"best": "", "team": "vision"},
    notes=(Note(text="one", author="ann", written=START), Note(text="two")),
    attempts=(
        Attempt(number=1, status=RunState.PREEMPTED, started=START, host="a"),
        Attempt(number=2, status=RunState.FAILED, exit_code=137, details={"pid": 7}),
    ),
    details={"git": {"commit": "abc", "diff": "+ x\x00"}, "command": ["python", "train.py"]},
)


def names(page: ResultPage[RunRecord]) -> list[str]:
    """Of the runs of a page."""
    return [run.name for run in page.items]


def put_named(catalog: Catalog, *given: str, **fields: Any) -> list[RunRecord]:
    """Runs of these names, put into a catalog."""
    return catalog.runs.put_many([make_run(name=name, **fields) for name in given])
