# SPDX-License-Identifier: Apache-2.0
"""Points of many series as one long table, for pandas, polars and Arrow; each is imported when it is used.

A row has a run, a tag, a step, a wall time and a value.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import Points
from aboard.errors import MissingPackage
from aboard.reader.run import Tag

if TYPE_CHECKING:
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
    import polars as pl


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one series, which share its names. The columns are those in which the points were decoded."""

    run: str
    tag: str
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    superseded: bool = False

    @classmethod
    def of(cls, run: str, tag: str, points: Points, *, superseded: bool = False) -> Rows:
        """All points of a series."""
        return cls(writable(run), writable(tag), points.steps, points.wall_times, points.values, superseded)

    def __len__(self) -> int:
        return len(self.steps)

    def parts(self, most: int) -> Iterator[Rows]:
        """The same rows in parts of at most so many, without a copy."""
        for at in range(0, len(self), most):
            part = slice(at, at + most)
            yield replace(self, steps=self.steps[part], wall_times=self.wall_times[part], values=self.values[part])


def rows_of(run: str, tags: Iterable[Tag], *, superseded: bool) -> Iterator[Rows]:
    """Every point of scalar tags; on request also those that a later attempt has logged anew, behind the others."""
    for tag in tags:
        logdir = tag.run.logdir
        yield Rows.of(run, tag.name, logdir.scalars(tag.number, False))
        if superseded:
            yield Rows.of(run, tag.name, logdir.superseded(tag.number), superseded=True)


def writable(name: str) -> str:
    r"""The name as text that can be encoded: bytes in a folder's name that are no UTF-8 become `\udc..`."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


class AsTable(ABC):
    """Anything with scalar points. Columns: run, tag, step, wall_time (seconds since 1970), value.

    With `superseded=True` points that a later attempt has logged anew are there too, and a column tells them.
    """

    @abstractmethod
    def rows(self, *, superseded: bool = False) -> Iterator[Rows]:
        """The rows of the table, series by series, without a copy."""

    def to_pandas(self, *, superseded: bool = False) -> pd.DataFrame:
        """All points as a pandas DataFrame."""
        return pandas_frame(self.rows(superseded=superseded), superseded=superseded)

    def to_polars(self, *, superseded: bool = False) -> pl.DataFrame:
        """All points as a polars DataFrame."""
        return polars_frame(self.rows(superseded=superseded), superseded=superseded)

    def to_arrow(self, *, superseded: bool = False) -> Any:
        """All points as a pyarrow Table, whose numbers lie where they were decoded: nothing is copied."""
        return arrow_table(self.rows(superseded=superseded), superseded=superseded)


def package(name: str, needed_by: str, install: str = "") -> Any:
    """An optional package, which has no types as far as aboard is concerned."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{needed_by} needs {name}, which cannot be imported ({error})", hint=f"pip install {install or name}"
        ) from error


def pandas_frame(rows: Iterable[Rows], *, superseded: bool) -> pd.DataFrame:
    """A frame of its own memory, so that it can be changed as any other."""
    pandas: Any = package("pandas", "to_pandas()")
    table = _Columns(rows)
    columns: dict[str, Any] = {
        "run": pandas.Categorical.from_codes(table.codes(table.runs), list(table.run_names)),
        "tag": pandas.Categorical.from_codes(table.codes(table.tags), list(table.tag_names)),
        **table.numbers(),
    }
    if superseded:
        columns["superseded"] = table.superseded()
    return pandas.DataFrame(columns, copy=False)


def polars_frame(rows: Iterable[Rows], *, superseded: bool) -> pl.DataFrame:
    """A frame whose names are categories."""
    polars: Any = package("polars", "to_polars()")
    table = _Columns(rows)

    def names(known: Iterable[str], per_series: list[int]) -> Any:
        return polars.Series(list(known), dtype=polars.Categorical).gather(table.codes(per_series))

    columns: dict[str, Any] = {
        "run": names(table.run_names, table.runs),
        "tag": names(table.tag_names, table.tags),
        **table.numbers(),
    }
    if superseded:
        columns["superseded"] = table.superseded()
    return polars.DataFrame(columns)


def arrow_table(rows: Iterable[Rows], *, superseded: bool) -> Any:
    """One chunk per series, over the memory in which its points were decoded."""
    arrow: Any = package("pyarrow", "to_arrow()")
    table = _Columns(rows)
    run_names = arrow.array(list(table.run_names), arrow.string())
    tag_names = arrow.array(list(table.tag_names), arrow.string())

    def coded(code: int, count: int, names: Any) -> Any:
        return arrow.DictionaryArray.from_arrays(np.full(count, code, np.int32), names)

    columns: dict[str, Any] = {
        "run": [coded(code, count, run_names) for code, count in zip(table.runs, table.counts, strict=True)],
        "tag": [coded(code, count, tag_names) for code, count in zip(table.tags, table.counts, strict=True)],
        "step": [arrow.array(part.steps) for part in table.parts],
        "wall_time": [arrow.array(part.wall_times) for part in table.parts],
        "value": [arrow.array(part.values) for part in table.parts],
    }
    if superseded:
        columns["superseded"] = [arrow.array(np.full(len(part), part.superseded)) for part in table.parts]
    schema = arrow_schema(superseded=superseded)
    return arrow.table([arrow.chunked_array(columns[one.name], one.type) for one in schema], schema=schema)


def arrow_schema(*, superseded: bool) -> Any:
    """The columns with their types; names are dictionary-encoded."""
    arrow: Any = package("pyarrow", "an Arrow table")
    names = arrow.dictionary(arrow.int32(), arrow.string())
    numbers = [("step", arrow.int64()), ("wall_time", arrow.float64()), ("value", arrow.float64())]
    fields = [("run", names), ("tag", names), *numbers]
    return arrow.schema([*fields, ("superseded", arrow.bool_())] if superseded else fields)


class _Columns:
    """The rows with their names as numbers, and columns of numbers on request."""

    def __init__(self, rows: Iterable[Rows]) -> None:
        self.parts = [part for part in rows if len(part)]
        self.counts = [len(part) for part in self.parts]
        self.run_names: dict[str, int] = {}
        self.tag_names: dict[str, int] = {}
        self.runs = [self.run_names.setdefault(part.run, len(self.run_names)) for part in self.parts]
        self.tags = [self.tag_names.setdefault(part.tag, len(self.tag_names)) for part in self.parts]

    def codes(self, per_series: list[int]) -> NDArray[np.int32]:
        return np.repeat(np.array(per_series, np.int32), self.counts)

    def superseded(self) -> NDArray[np.bool_]:
        return np.repeat(np.array([part.superseded for part in self.parts], np.bool_), self.counts)

    def numbers(self) -> dict[str, NDArray[Any]]:
        return {
            "step": np.concatenate([np.empty(0, np.int64), *(part.steps for part in self.parts)]),
            "wall_time": np.concatenate([np.empty(0), *(part.wall_times for part in self.parts)]),
            "value": np.concatenate([np.empty(0), *(part.values for part in self.parts)]),
        }
