# SPDX-License-Identifier: Apache-2.0
"""Every format of an export: what is read back from it, with the readers that people use, is what was logged."""

import csv
import io
import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard import SummaryWriter
from aboard.cli.parsing import ExportFormat
from aboard.errors import InvalidValue, MissingPackage
from aboard.exchange.export import ExportResult, NamePatterns, export_points, select_runs
from aboard.exchange.formats import FORMATS, ROWS_AT_ONCE, CsvPoints, JsonLinesPoints, ParquetPoints, format_for
from aboard.reader.opened.tables import Rows
from support.raw_events import write_scalars

NASTY = [
    "plain",
    "a,b",
    'say "hi"',
    "two\nlines",
    "cr\ralone",
    "crlf\r\n",
    "שלום עולם",
    "🚀",
    " blanks ",
    "",
    "=1+1",
    "<b>",
    "NaN",
]
NUMBERS = [0.1, -0.0, 1e300, 5e-324, 2.0**53, math.nan, math.inf, -math.inf, 1 / 3, 7.0]


def exported(folder, form, *, tags=(), runs=(), superseded=False):
    file, done = io.BytesIO(), ExportResult()
    run_patterns, tag_patterns = NamePatterns(runs), NamePatterns(tags)
    selected = select_runs(list(aboard.open(folder).runs), run_patterns, tag_patterns)
    target = FORMATS[form](file, superseded=superseded)
    export_points(selected, tag_patterns, target, done, superseded=superseded)
    return file.getvalue(), done


def from_csv(data):
    lines = csv.reader(io.StringIO(data.decode(), newline=""))
    assert next(lines)[:5] == ["run", "tag", "step", "wall_time", "value"]
    return [(run, tag, int(step), float(wall), float(value), *more) for run, tag, step, wall, value, *more in lines]


def from_json(data):
    document = json.loads(data, parse_constant=pytest.fail)
    assert (document["format"], document["version"]) == ("aboard-points", 1)
    return [
        (run["name"], series["tag"], int(step), float(wall_time), float(value))
        for run in document["runs"]
        for series in run["scalars"]
        for step, wall_time, value in zip(series["steps"], series["wall_times"], series["values"], strict=True)
    ]


def from_jsonl(data):
    points = [json.loads(line, parse_constant=pytest.fail) for line in data.decode().split("\n")[:-1]]
    return [(p["run"], p["tag"], int(p["step"]), float(p["wall_time"]), float(p["value"])) for p in points]


def from_parquet(data):
    table = pq.read_table(io.BytesIO(data))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


READERS = {"csv": from_csv, "json": from_json, "jsonl": from_jsonl, "parquet": from_parquet}


def comparable(points):
    return [tuple(repr(field) for field in point) for point in points]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    points = [(tag, step, 1794785621.7274671 + step, value) for tag in NASTY for step, value in enumerate(NUMBERS)]
    write_scalars(folder / "one, two", points)
    write_scalars(
        folder / "שלום", [("far", 2**53, 1.0, 2.0), ("far", 2**53 + 1, 1.5, 2.5), ("far", 2**63 - 1, 2.0, 3.0)]
    )
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_round_trip(logs, form):
    data, done = exported(logs, form)
    found = READERS[form](data)
    expected = [
        ("one, two", tag, step, 1794785621.7274671 + step, value) for tag in NASTY for step, value in enumerate(NUMBERS)
    ]
    expected += [("שלום", "far", *rest) for rest in [(2**53, 1.0, 2.0), (2**53 + 1, 1.5, 2.5), (2**63 - 1, 2.0, 3.0)]]
    assert comparable(found) == comparable(expected)
    assert (done.runs, done.series, done.points) == (2, len(NASTY) + 1, len(expected))
    assert not done.left_out


def test_pandas_and_polars_read_the_csv(logs):
    import pandas as pd
    import polars as pl

    data, _ = exported(logs, "csv")
    tags = [tag for tag in NASTY for _ in NUMBERS]
    frame = pd.read_csv(io.BytesIO(data), keep_default_na=False, na_values={"value": ["NaN"]})
    assert frame["tag"].tolist()[: len(tags)] == tags
    assert frame["value"].dtype == np.float64
    # pandas rounds the last digit by default.
    np.testing.assert_allclose(frame["value"][: len(NUMBERS)], NUMBERS, rtol=1e-15)
    assert frame["step"].tolist()[-1] == 2**63 - 1
    other = pl.read_csv(io.BytesIO(data))
    assert other["tag"].to_list()[: len(tags)] == tags
    assert repr(other["value"].to_list()[: len(NUMBERS)]) == repr(NUMBERS)


def test_csv_says_nan_and_inf_plainly(logs):
    data, _ = exported(logs, "csv", tags=["plain"])
    values = [line.rsplit(",", 1)[1] for line in data.decode().splitlines()[1:]]
    assert values == [
        "0.1",
        "-0.0",
        "1e+300",
        "5e-324",
        "9007199254740992.0",
        "NaN",
        "inf",
        "-inf",
        "0.3333333333333333",
        "7.0",
    ]


def test_json_has_strings_where_a_reader_would_round(logs):
    document = json.loads(exported(logs, "json")[0])
    assert document["runs"][1]["scalars"][0]["steps"] == [2**53, str(2**53 + 1), str(2**63 - 1)]
    assert document["runs"][0]["scalars"][0]["values"][5:8] == ["NaN", "Infinity", "-Infinity"]
    lines = exported(logs, "jsonl", tags=["far"])[0].decode().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [2**53, str(2**53 + 1), str(2**63 - 1)]


def test_json_has_the_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_hparams({"lr": 0.1, "bad": math.nan, "name": "x"}, {"m": 1}, in_place=True)
    with SummaryWriter(tmp_path / "b") as writer:
        writer.add_text("note", "no curve here", 1)
    first, second = json.loads(exported(tmp_path, "json")[0], parse_constant=pytest.fail)["runs"]
    assert first["hparams"] == {"lr": 0.1, "bad": "NaN", "name": "x"}
    assert second == {"name": "b", "hparams": {}, "scalars": []}


@pytest.mark.parametrize("form", FORMATS)
def test_superseded_points_have_a_column(tmp_path, form):
    import pandas as pd

    for first, value in [(0, 1.0), (1, 2.0)]:
        with SummaryWriter(tmp_path) as writer:
            for step in range(first, 3):
                writer.add_scalar("loss", value, step)
    data, done = exported(tmp_path, form, superseded=True)
    assert (done.points, done.series) == (5, 1)
    expected = [(0, 1.0, False), (1, 2.0, False), (2, 2.0, False), (1, 1.0, True), (2, 1.0, True)]
    if form == "json":
        (run,) = json.loads(data)["runs"]
        found = [
            (step, value, series["superseded"])
            for series in run["scalars"]
            for step, value in zip(series["steps"], series["values"], strict=True)
        ]
    elif form == "jsonl":
        found = [(p["step"], p["value"], p["superseded"]) for p in map(json.loads, data.decode().splitlines())]
    elif form == "csv":
        found = [(row[2], row[4], row[5] == "true") for row in from_csv(data)]
        assert pd.read_csv(io.BytesIO(data))["superseded"].dtype == np.bool_
    else:
        found = [(row[2], row[4], row[5]) for row in from_parquet(data)]
    assert found == expected
    assert len(READERS[form](exported(tmp_path, form)[0])) == 3


@pytest.mark.parametrize("form", FORMATS)
def test_runs_without_points(tmp_path, form):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "no curve here", 1)
        writer.add_image("picture", np.zeros((3, 4, 4)), 1)
        writer.add_image("other", np.zeros((3, 4, 4)), 1)
    data, done = exported(tmp_path, form)
    assert READERS[form](data) == []
    assert done.left_out == {"text": 1, "images": 2}


def test_parquet_names_are_dictionaries_and_row_groups_are_of_a_size(tmp_path):
    rows = [Rows("r", f"t{number}", *columns(1000)) for number in range(30)]
    rows += [Rows("r", "long", *columns(600_000))]
    file = io.BytesIO()
    target = ParquetPoints(file, superseded=False)
    for one in rows:
        target.add(one)
    target.end()
    read = pq.ParquetFile(io.BytesIO(file.getvalue()))
    sizes = [read.metadata.row_group(group).num_rows for group in range(read.num_row_groups)]
    assert sum(sizes) == 630_000
    assert len(sizes) <= 5
    assert max(sizes) <= 1 << 18
    for column in (0, 1):
        assert "RLE_DICTIONARY" in read.metadata.row_group(0).column(column).encodings
    assert str(read.schema_arrow.field("tag").type).startswith("dictionary")
    steps = read.read().filter(pq.filters_to_expression([("tag", "=", "long")])).column("step").to_pylist()
    assert steps == list(range(600_000))


def columns(count):
    return np.arange(count), np.arange(count, dtype=np.float64), np.arange(count, dtype=np.float64)


@given(st.text(), st.text(), st.lists(st.floats(), min_size=1, max_size=5))
def test_any_names_and_numbers_survive_csv_and_json_lines(run, tag, values):
    points = Rows(run, tag, np.arange(len(values)), np.array(values), np.array(values))
    expected = comparable((run, tag, step, value, value) for step, value in enumerate(values))
    for form, read in ((CsvPoints, from_csv), (JsonLinesPoints, from_jsonl)):
        file = io.BytesIO()
        target = form(file, superseded=False)
        target.begin()
        target.add(points)
        target.end()
        assert comparable(read(file.getvalue())) == expected


def test_parts_of_a_long_series_are_joined_seamlessly(tmp_path):
    count = ROWS_AT_ONCE + 5_000
    points = Rows("r", "t", *columns(count))
    for form in FORMATS:
        file = io.BytesIO()
        target = FORMATS[form](file, superseded=False)
        target.begin()
        if form == "json":
            (run,) = aboard.open(write_scalars(tmp_path, [("t", 0, 0.0, 0.0)])).runs
            target.begin_run(run)
        target.add(points)
        target.end()
        assert [point[2] for point in READERS[form](file.getvalue())] == list(range(count))


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ([], ["loss", "val/loss", "val/acc", "w[0]"]),
        (["loss"], ["loss"]),
        (["val/*"], ["val/loss", "val/acc"]),
        (["*loss"], ["loss", "val/loss"]),
        (["/^val/(loss|f1)$/"], ["val/loss"]),
        (["/acc/", "loss"], ["loss", "val/acc"]),
        (["w[0]"], ["w[0]"]),
        (["w[[]*"], ["w[0]"]),
    ],
)
def test_patterns(tmp_path, patterns, chosen):
    write_scalars(tmp_path, [(tag, 1, 1.0, 1.0) for tag in ("loss", "val/loss", "val/acc", "w[0]")])
    data, done = exported(tmp_path, "csv", tags=patterns)
    assert [point[1] for point in from_csv(data)] == chosen
    assert done.series == len(chosen)


def test_patterns_that_fit_nothing_are_refused(logs):
    with pytest.raises(InvalidValue, match=r"no scalar tag is called 'plane'\n.*did you mean 'plain'"):
        exported(logs, "csv", tags=["plain", "plane"])
    with pytest.raises(InvalidValue, match="no run is called 'three'"):
        exported(logs, "csv", runs=["three"])
    with pytest.raises(InvalidValue, match="is no regular expression"):
        exported(logs, "csv", tags=["/(/"])
    with pytest.raises(InvalidValue, match="no scalar tag is called 'far'"):  # it is in the other run
        exported(logs, "csv", runs=["one*"], tags=["far"])


def test_the_suffix_of_the_output_tells_the_format():
    names = {"x.csv": "csv", "x.CSV": "csv", "x.parquet": "parquet", "x.pq": "parquet", "x.json": "json",
             "x.jsonl": "jsonl", "x.ndjson": "jsonl", "x": "csv", "-": "csv", "/dev/stdout": "csv"}  # fmt: skip
    assert {output: format_for(output) for output in names} == {output: FORMATS[name] for output, name in names.items()}
    with pytest.raises(InvalidValue, match="compressed"):
        format_for("x.csv.gz")
    for other in ("x.xlsx", "x.txt"):
        with pytest.raises(InvalidValue, match=r"(?s)is not a format.*\.csv, \.parquet.* or \.ndjson, or add --format"):
            format_for(other)


def test_the_command_line_knows_every_format():
    assert [form.value for form in ExportFormat] == list(FORMATS)


def test_without_pyarrow_parquet_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackage, match=r"pip install 'aboard\[export\]'"):
        ParquetPoints(io.BytesIO(), superseded=False)
