# SPDX-License-Identifier: Apache-2.0
"""Summaries of scalar tags agree with `MetricSummary`, which adds points one by one."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from aboard._native import EventLog, Logdir, ScalarPoint, scalar_summaries
from aboard.model.runs import MetricPoint, MetricSummary

_NAN, _INFINITY = math.nan, math.inf
_CURVES = {
    "falling": [3.0, 2.0, 1.0],
    "equal": [1.0, 2.0, 1.0, 2.0, 1.5],
    "nan": [_NAN, 5.0, -1.0, _NAN],
    "only_nan": [_NAN, _NAN],
    "infinite": [_INFINITY, 0.0, -_INFINITY],
    "one": [0.0],
    "long": [math.sin(step / 7) for step in range(3000)],
}


def _logdir(folder: Path, index: Path | None = None) -> Logdir:
    logdir = Logdir(os.fsencode(folder), os.fsencode(index) if index else b"")
    logdir.refresh([os.fsencode(path.name) for path in folder.iterdir()])
    return logdir


def _log(folder: Path) -> None:
    log = EventLog(os.fsencode(folder), "host")
    for tag, values in _CURVES.items():
        for step, value in enumerate(values):
            log.add_scalar(tag, value, step, 1000.0 + step)
    log.close()


def _expected(values: list[float]) -> MetricSummary:
    points = [MetricPoint(_as_float32(value), step, 1000.0 + step) for step, value in enumerate(values)]
    summary = MetricSummary.of(points[0])
    for point in points[1:]:
        summary = summary.including(point)
    return summary


def _as_float32(value: float) -> float:
    import numpy as np

    return float(np.float32(value))


def _facts(point: ScalarPoint | MetricPoint | None) -> tuple[str, int, float] | None:
    return None if point is None else (repr(point.value), point.step, point.wall_time)


def _check(logdir: Logdir) -> None:
    [summaries] = scalar_summaries([logdir])
    assert [one.tag for one in summaries] == list(_CURVES)
    for one in summaries:
        expected = _expected(_CURVES[one.tag])
        assert one.count == expected.count
        assert _facts(one.first) == (repr(_as_float32(_CURVES[one.tag][0])), 0, 1000.0)
        assert _facts(one.last) == _facts(expected.last)
        assert _facts(one.smallest) == _facts(expected.smallest), one.tag
        assert _facts(one.largest) == _facts(expected.largest), one.tag


def test_agree_with_summaries_of_single_points(tmp_path: Path) -> None:
    _log(tmp_path)
    _check(_logdir(tmp_path))


def test_read_from_an_index(tmp_path: Path) -> None:
    logs, index = tmp_path / "logs", tmp_path / "index"
    logs.mkdir()
    _log(logs)
    assert _logdir(logs, index).save_index() == 0
    _check(_logdir(logs, index))


@pytest.mark.parametrize("threads", [1, 4])
def test_of_many_logdirs_in_their_order(tmp_path: Path, threads: int) -> None:
    for number in range(100):
        log = EventLog(os.fsencode(tmp_path / f"{number}"), "host")
        log.add_scalar("loss", float(number), 1, 1.0)
        log.close()
    logdirs = [_logdir(tmp_path / f"{number}") for number in range(100)]
    summaries = scalar_summaries(logdirs, threads)
    assert [[one.last.value for one in of_one] for of_one in summaries] == [[float(number)] for number in range(100)]
    assert scalar_summaries([]) == []


def test_a_point_outlives_its_summary(tmp_path: Path) -> None:
    _log(tmp_path)
    last = scalar_summaries([_logdir(tmp_path)])[0][0].last
    assert (last.step, last.wall_time, last.value) == (2, 1002.0, 1.0)
