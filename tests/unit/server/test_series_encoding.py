# SPDX-License-Identifier: Apache-2.0
"""Large curves are sent in pieces of bounded size, which together are the same document."""

from __future__ import annotations

import asyncio
import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from starlette.responses import Response, StreamingResponse

from aboard import SummaryWriter
from aboard._native import Points
from aboard.api.series import read_columns
from aboard.model.selections import SelectedRun
from aboard.model.states import RunState
from aboard.reader.run import RunReader
from aboard.server.routes.series_encoding import Pieces, as_columns, as_csv, as_json, response_of
from aboard.services.runs.series import CurvePoints, CurveSet

COUNT = 150_000
LARGEST_PIECE = 8 << 20
NAN_AT, LONG_STEP = COUNT - 1, 2**53 + 1


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Points:
    folder: Path = tmp_path_factory.mktemp("logs")
    with SummaryWriter(folder) as writer:
        for step in range(COUNT - 1):
            writer.add_scalar("loss", step / 3, step, walltime=1000.0 + step)
        writer.add_scalar("loss", float("nan"), LONG_STEP, walltime=2000.0)
    run = RunReader("run", folder)
    run.logdir.refresh([os.fsencode(path.name) for path in folder.iterdir()])
    return run.by_plugin("scalars")["loss"].points()


@pytest.fixture
def curves(points: Points) -> CurveSet:
    run = SelectedRun(uid="U", number=1, name="base", workspace="default", status=RunState.COMPLETED)
    found = [CurvePoints(run, "", "loss", COUNT, points), CurvePoints(run, "val", "loss", COUNT, points)]
    return cast(CurveSet, SimpleNamespace(points=lambda: found, problems=()))


def joined(pieces: Pieces) -> bytes:
    made = list(pieces)
    assert max(map(len, made)) < LARGEST_PIECE
    assert len(made) > 4
    return b"".join(made)


def check(item: dict[str, Any], points: Points) -> None:
    assert item["steps"][:-1] == list(range(COUNT - 1))
    assert item["steps"][-1] == str(LONG_STEP)
    assert item["values"][-1] == "NaN"
    assert np.array_equal(item["values"][:-1], points.values[:-1])
    assert item["wall_times"] == points.wall_times.tolist()


def test_json_in_pieces_is_one_document(curves: CurveSet, points: Points) -> None:
    document = json.loads(joined(as_json(curves)))
    assert [one["logdir"] for one in document["items"]] == ["", "val"]
    assert document["problems"] == []
    check(document["items"][1], points)


def test_columns_in_pieces_are_whole(curves: CurveSet, points: Points) -> None:
    found, _ = read_columns(joined(as_columns(curves)))
    assert len(found) == 2
    assert np.array_equal(np.frombuffer(found[1].steps, np.int64), points.steps)
    assert np.array_equal(np.frombuffer(found[1].values), points.values, equal_nan=True)


def test_csv_in_pieces_has_one_head(curves: CurveSet) -> None:
    rows = list(csv.DictReader(joined(as_csv(curves)).decode().splitlines()))
    assert len(rows) == 2 * COUNT
    assert rows[COUNT]["step"] == "0"
    assert (rows[-1]["logdir"], rows[-1]["step"], rows[-1]["value"]) == ("val", str(LONG_STEP), "NaN")


def test_no_more_than_a_megabyte_is_made_before_the_client_reads() -> None:
    made: list[int] = []

    def pieces() -> Pieces:
        for number in range(100):
            made.append(number)
            yield b"x" * 100_000

    response = response_of(pieces(), "text/plain")
    assert isinstance(response, StreamingResponse)
    assert len(made) == 11

    async def body() -> int:
        return sum([len(cast(bytes, piece)) async for piece in response.body_iterator])

    assert asyncio.run(body()) == 10_000_000


def test_a_small_response_has_a_length() -> None:
    response = response_of(iter([b"a", b"b"]), "text/plain", {"ETag": "x"})
    assert type(response) is Response
    assert response.body == b"ab"
    assert response.headers["content-length"] == "2"
    assert response.headers["etag"] == "x"


def test_names_that_are_not_utf8_travel(points: Points) -> None:
    """The name of a folder need not be text; the curves beside it are to be seen all the same."""
    run = SelectedRun(uid="U", number=1, name="caf\udce9", workspace="default", status=RunState.COMPLETED)
    curves = cast(CurveSet, SimpleNamespace(points=lambda: [CurvePoints(run, "", "loss", COUNT, points)], problems=()))
    assert json.loads(b"".join(as_json(curves)))["items"][0]["name"] == run.name
    assert read_columns(b"".join(as_columns(curves, {"tags": ["caf\udce9"]})))[0][0].about["name"] == run.name
