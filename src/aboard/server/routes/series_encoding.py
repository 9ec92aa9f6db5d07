# SPDX-License-Identifier: Apache-2.0
"""Encode curves as JSON, binary columns (docs/series.md) or CSV, straight from columns."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.responses import Response, StreamingResponse

from aboard._native import Points
from aboard.api.runs import RunProblem
from aboard.api.series import COLUMNS_TYPE, MAGIC, VERSION
from aboard.api.wire import to_wire
from aboard.model.documents import to_json_number
from aboard.server.http.json_encoding import encode_json
from aboard.services.runs.series import CurvePoints, CurveSet

_EXACT = 2**53
_PIECE_POINTS = 1 << 16
_WHOLE_BYTES = 1 << 20

Pieces = Iterator[bytes]
Encoder = Callable[[CurveSet], Pieces]


def response_of(pieces: Pieces, content_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """A small response as a whole. A large one is made piece by piece as the client reads it."""
    begin: list[bytes] = []
    size = 0
    for piece in pieces:
        begin.append(piece)
        size += len(piece)
        if size > _WHOLE_BYTES:
            return StreamingResponse(chain(begin, pieces), headers=headers, media_type=content_type)
    return Response(b"".join(begin), headers=headers, media_type=content_type)


def as_json(curves: CurveSet) -> Pieces:
    """One document, with a list for each column."""
    found = curves.points()
    yield b'{"items":['
    for number, one in enumerate(found):
        counts = {} if one.parts is None else {"means": one.parts.means, "counts": one.parts.counts.astype(np.int64)}
        yield from _item_json(number, _describe_curve(one), {**_columns(one.points), **counts})
    yield b'],"problems":' + encode_json(_problems(curves.problems)) + b"}"


def as_columns(curves: CurveSet, told: Mapping[str, object] | None = None) -> Pieces:
    """A head in JSON, and the columns behind it, little-endian. `told` stands in the head too."""
    rows: list[dict[str, object]] = []
    columns: list[tuple[NDArray[Any], str]] = []
    for one in curves.points():
        steps = one.points.steps
        is_exact = not len(steps) or (int(steps[0]) >= -_EXACT and int(steps[-1]) <= _EXACT)
        told_means = {"means": True} if one.parts else {}
        rows.append({**_describe_curve(one), "points": len(steps), "steps": "f8" if is_exact else "i8", **told_means})
        columns += [
            (steps, "<f8" if is_exact else "<i8"),
            *((column, "<f8") for column in (one.points.wall_times, one.points.values, *(one.parts or ()))),
        ]
    head = encode_json({"version": VERSION, "items": rows, "problems": _problems(curves.problems), **(told or {})})
    head += b" " * (-(len(MAGIC) + 4 + len(head)) % 8)  # columns begin where numbers may stand
    yield b"".join([MAGIC, struct.pack("<I", len(head)), head])
    for column, kind in columns:
        for begin in range(0, len(column), _PIECE_POINTS):
            yield column[begin : begin + _PIECE_POINTS].astype(kind, copy=False).tobytes()


def as_csv(curves: CurveSet) -> Pieces:
    """One line for each point."""
    found = curves.points()
    yield b"run,workspace,name,logdir,tag,step,wall_time,value\n"
    for one in found:
        about = [one.run.number, one.run.workspace, one.run.name, one.logdir, one.tag]
        columns = _columns(one.points).values()
        for begin in range(0, len(one.points), _PIECE_POINTS):
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            parts = (column[begin : begin + _PIECE_POINTS].tolist() for column in columns)
            for step, wall_time, value in zip(*parts, strict=True):
                writer.writerow([*about, step, to_json_number(wall_time), to_json_number(value)])
            yield text.getvalue().encode("utf-8", "surrogatepass")


ENCODERS: dict[str, tuple[str, Encoder]] = {
    "json": ("application/json", as_json),
    "columns": (COLUMNS_TYPE, as_columns),
    "csv": ("text/csv; charset=utf-8", as_csv),
}


def _describe_curve(one: CurvePoints) -> dict[str, object]:
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


def _columns(points: Points) -> dict[str, NDArray[Any]]:
    return {"steps": points.steps, "wall_times": points.wall_times, "values": points.values}


def _item_json(number: int, about: Mapping[str, object], columns: Mapping[str, NDArray[Any]]) -> Pieces:
    """One element of a list: what a curve is, and a list for each column."""
    yield (b"," if number else b"") + encode_json(about)[:-1]
    for name, column in columns.items():
        yield f',"{name}":['.encode()
        for begin in range(0, len(column), _PIECE_POINTS):
            numbers = _numbers_json(column[begin : begin + _PIECE_POINTS])
            yield (b"," if begin else b"") + orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
        yield b"]"
    yield b"}"


def _numbers_json(column: NDArray[Any]) -> object:
    """Numbers, as they stand; text for those that JSON does not have."""
    if column.dtype.kind == "f":
        is_plain = bool(np.isfinite(column).all())
    else:
        is_plain = int(column.min()) >= -_EXACT and int(column.max()) <= _EXACT
    return np.ascontiguousarray(column) if is_plain else [to_json_number(number) for number in column.tolist()]
