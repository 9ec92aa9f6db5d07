# SPDX-License-Identifier: Apache-2.0
"""Metrics of batches: their group, their numbers, and what is no number."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidValue
from aboard.integrations.framework import BatchMetrics
from support.reading import scalars


def test_a_point_at_step_5_is_that_of_the_fifth_batch(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        batches = BatchMetrics(writer, "Determined")
        for batch in range(1, 6):
            batches.trained({"loss": batch / 10})
        batches.validated({"loss": 0.5, "val_acc": 1.0})
    assert scalars(tmp_path)[4:] == [
        ("Determined/loss", 5, pytest.approx(0.5)),
        ("Determined/val_loss", 5, 0.5),
        ("Determined/val_acc", 5, 1.0),
    ]


def test_what_is_no_number_is_left_out_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with SummaryWriter(tmp_path) as writer, caplog.at_level(logging.WARNING, "aboard"):
        batches = BatchMetrics(writer)
        for value in (0.25, "high", "higher", None, 0.75):  # a metric that changes its type
            batches.trained({"loss": value, "more": {"acc": 1.0}})
    found = scalars(tmp_path)
    assert [(step, value) for tag, step, value in found if tag == "batch/loss"] == [(1, 0.25), (5, 0.75)]
    assert [step for tag, step, _ in found if tag == "batch/more/acc"] == [1, 2, 3, 4, 5]
    assert [record.getMessage().count("batch/loss") for record in caplog.records] == [1]


def test_without_a_group_tags_stand_alone(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        BatchMetrics(writer, "").trained({"loss": 1.0})
    assert scalars(tmp_path) == [("loss", 1, 1.0)]


def test_a_group_stays_below_the_run(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(InvalidValue, match=r"\.\./up"):
        BatchMetrics(writer, "../up")
