# SPDX-License-Identifier: Apache-2.0
"""Curves as they are sent: as JSON, as binary columns (docs/series.md), or as CSV. Columns are not taken apart."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from aboard._native import Points
from aboard.api.columns import MAGIC, VERSION
from aboard.api.runs import RunProblem
from aboard.api.series import COLUMNS_TYPE
from aboard.api.wire import to_wire
from aboard.control.curves import FoundCurve, FoundCurves
from aboard.control.run_series import WholeSeries
from aboard.model.json_numbers import to_json_number

_EXACT = 2**53

Encoder = Callable[[FoundCurves], bytes]


def as_json(curves: FoundCurves) -> bytes:
    """One document, with a list for each column."""
    items = [{**_about(one), **_columns_json(one.points), **_means_json(one)} for one in curves.points()]
    return orjson.dumps({"items": items, "problems": _problems(curves.problems)}, option=orjson.OPT_SERIALIZE_NUMPY)


def whole_json(series: Sequence[WholeSeries]) -> bytes:
    """A page of curves with every point."""
    items = [{"logdir": one.logdir, "tag": one.tag, **_columns_json(one.points)} for one in series]
    return orjson.dumps({"items": items, "next": None}, option=orjson.OPT_SERIALIZE_NUMPY)


def as_columns(curves: FoundCurves, told: Mapping[str, object] | None = None) -> bytes:
    """A head in JSON, and the columns behind it, little-endian. `told` stands in the head too."""
    rows: list[dict[str, object]] = []
    columns: list[bytes] = []
    for one in curves.points():
        steps = one.points.steps
        is_exact = not len(steps) or (int(steps[0]) >= -_EXACT and int(steps[-1]) <= _EXACT)
        told_means = {"means": True} if one.parts else {}
        rows.append({**_about(one), "points": len(steps), "steps": "f8" if is_exact else "i8", **told_means})
        columns += [
            steps.astype("<f8" if is_exact else "<i8").tobytes(),
            one.points.wall_times.astype("<f8", copy=False).tobytes(),
            one.points.values.astype("<f8", copy=False).tobytes(),
            *(column.astype("<f8", copy=False).tobytes() for column in one.parts or ()),
        ]
    head = orjson.dumps({"version": VERSION, "items": rows, "problems": _problems(curves.problems), **(told or {})})
    head += b" " * (-(len(MAGIC) + 4 + len(head)) % 8)  # columns begin where numbers may stand
    return b"".join([MAGIC, struct.pack("<I", len(head)), head, *columns])


def as_csv(curves: FoundCurves) -> bytes:
    """One line for each point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["run", "workspace", "name", "logdir", "tag", "step", "wall_time", "value"])
    for one in curves.points():
        about = [one.run.number, one.run.workspace, one.run.name, one.logdir, one.tag]
        points = one.points
        for step, wall_time, value in zip(
            points.steps.tolist(), points.wall_times.tolist(), points.values.tolist(), strict=True
        ):
            writer.writerow([*about, step, to_json_number(wall_time), to_json_number(value)])
    return text.getvalue().encode("utf-8", "surrogatepass")


ENCODERS: dict[str, tuple[str, Encoder]] = {
    "json": ("application/json", as_json),
    "columns": (COLUMNS_TYPE, as_columns),
    "csv": ("text/csv; charset=utf-8", as_csv),
}


def _about(one: FoundCurve) -> dict[str, object]:
    run = one.run
    return {
        "run": run.number,
        "uid": run.uid,
        "name": run.name,
        "workspace": run.workspace,
        "logdir": one.logdir,
        "tag": one.tag,
        "total": one.total,
    }


def _problems(problems: Sequence[RunProblem]) -> Any:
    return to_wire(problems)


def _columns_json(points: Points) -> dict[str, object]:
    return {
        "steps": _steps_json(points.steps),
        "wall_times": _floats_json(points.wall_times),
        "values": _floats_json(points.values),
    }


def _means_json(one: FoundCurve) -> dict[str, object]:
    if one.parts is None:
        return {}
    return {"means": _floats_json(one.parts.means), "counts": one.parts.counts.astype(np.int64)}


def _steps_json(steps: NDArray[np.int64]) -> object:
    if not len(steps) or (int(steps.min()) >= -_EXACT and int(steps.max()) <= _EXACT):
        return np.ascontiguousarray(steps)
    return [to_json_number(step) for step in steps.tolist()]


def _floats_json(column: NDArray[np.float64]) -> object:
    if np.isfinite(column).all():
        return np.ascontiguousarray(column)
    return [to_json_number(number) for number in column.tolist()]
