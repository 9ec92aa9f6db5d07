# SPDX-License-Identifier: Apache-2.0
"""Points as tables of pandas, polars and Arrow."""

import numpy as np
import pytest

import aboard
from aboard import SummaryWriter
from support.raw_events import write_scalars

COLUMNS = ["run", "tag", "step", "wall_time", "value"]
POINTS = [
    ("loss", 0, 10.5, 0.1),
    ("acc", 0, 11.0, float("nan")),
    ("loss", 1, 11.25, float("inf")),
    ("loss", 2**53 + 1, 1794785621.7274671, -0.0),
    ("acc", 5, 12.0, 1e300),
]
TABLE = sorted(POINTS, key=lambda point: point[0] != "loss")  # tags in the order of their first points


@pytest.fixture
def logs(tmp_path):
    write_scalars(tmp_path / "a", POINTS)
    write_scalars(tmp_path / "b,שלום", [('t"\n🚀', 7, 1.0, 2.0)])
    return tmp_path


def rows(frame):
    """The rows of any of the three, with NaN as a word so that they can be compared."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pyarrow":
        columns = [frame.column(name).to_pylist() for name in frame.column_names]
    elif library == "polars":
        columns = [frame[name].to_list() for name in frame.columns]
    else:
        columns = [frame[name].tolist() for name in frame.columns]
    return [tuple("NaN" if value != value else value for value in row) for row in zip(*columns, strict=True)]


def expected(run, points):
    return [tuple("NaN" if value != value else value for value in (run, *point)) for point in points]


@pytest.mark.parametrize("way", ["to_pandas", "to_polars", "to_arrow"])
def test_every_point_of_everything_in_one_long_table(logs, way):
    opened = aboard.open(logs)
    whole = getattr(opened, way)()
    other = expected("b,שלום", [('t"\n🚀', 7, 1.0, 2.0)])
    assert rows(whole) == expected("a", TABLE) + other
    assert rows(getattr(opened.runs[1], way)()) == other
    assert rows(getattr(opened.runs["a"].scalars["loss"], way)()) == expected("a", TABLE[:3])


@pytest.mark.parametrize("way", ["to_pandas", "to_polars", "to_arrow"])
def test_superseded_points_on_request(tmp_path, way):
    for first, value in [(0, 1.0), (1, 2.0)]:
        with SummaryWriter(tmp_path) as writer:
            for step in range(first, 3):
                writer.add_scalar("loss", value, step)
    opened = aboard.open(tmp_path)
    for source in (opened, opened.runs[0], opened.runs[0].scalars["loss"]):
        found = [(row[2], row[4], row[5]) for row in rows(getattr(source, way)(superseded=True))]
        assert found == [(0, 1.0, False), (1, 2.0, False), (2, 2.0, False), (1, 1.0, True), (2, 1.0, True)]
        assert len(rows(getattr(source, way)())) == 3


def test_types(logs):
    import polars as pl
    import pyarrow as pa

    opened = aboard.open(logs)
    frame = opened.to_pandas()
    assert list(frame.columns) == COLUMNS
    assert [str(dtype) for dtype in frame.dtypes] == ["category", "category", "int64", "float64", "float64"]
    assert opened.to_polars().dtypes == [pl.Categorical, pl.Categorical, pl.Int64, pl.Float64, pl.Float64]
    names = pa.dictionary(pa.int32(), pa.string())
    assert opened.to_arrow().schema.types == [names, names, pa.int64(), pa.float64(), pa.float64()]
    assert opened.to_arrow().column("value").null_count == 0


def test_nothing_has_the_same_columns(tmp_path):
    opened = aboard.open(tmp_path)
    assert list(opened.to_pandas().columns) == opened.to_polars().columns == opened.to_arrow().column_names == COLUMNS
    assert len(opened.to_pandas()) == opened.to_polars().height == opened.to_arrow().num_rows == 0
    assert opened.to_pandas(superseded=True).dtypes["superseded"] == np.bool_


def test_arrow_copies_no_numbers(logs):
    series = aboard.open(logs).runs["a"].scalars["loss"]
    table = series.to_arrow()
    for name, column in [("step", series.steps), ("wall_time", series.wall_times), ("value", series.values)]:
        (chunk,) = table.column(name).chunks
        assert chunk.buffers()[1].address == column.ctypes.data


def test_a_frame_of_pandas_can_be_changed(logs):
    series = aboard.open(logs).runs["a"].scalars["loss"]
    frame = series.to_pandas()
    frame.loc[0, "value"] = 7.0
    assert frame["value"].tolist()[0] == 7.0
    assert series.values[0] == 0.1


def test_frames_of_several_openings_can_be_joined(logs):
    import pandas as pd
    import polars as pl

    parts = [run.to_polars() for run in aboard.open(logs).runs]
    assert pl.concat(parts).height == len(POINTS) + 1
    last = aboard.open(logs).to_pandas().groupby(["run", "tag"], observed=True)["value"].last()
    assert last.to_dict()["b,שלום", 't"\n🚀'] == 2.0
    assert isinstance(last, pd.Series)
