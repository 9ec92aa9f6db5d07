# SPDX-License-Identifier: Apache-2.0
"""The formats of an export: CSV, JSON, JSON Lines and Parquet.

Numbers are written as text that every reader turns back into the same numbers.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from aboard.errors import InvalidValue
from aboard.reader.hparams import HParam
from aboard.reader.opened.tables import Rows, arrow_schema, arrow_table, package, writable

_EXACT = 2**53  # integers beyond it are not exact for readers of JSON, whose numbers are doubles
_JSON_WORDS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def csv_floats(values: NDArray[np.float64]) -> list[str]:
    """The shortest text that is exactly this double; `NaN`, `inf` and `-inf`."""
    texts = list(map(repr, values.tolist()))
    return texts if not np.isnan(values).any() else ["NaN" if text == "nan" else text for text in texts]


def json_floats(values: NDArray[np.float64]) -> list[str]:
    """The shortest text that is exactly this double; NaN and infinities as strings."""
    texts = list(map(repr, values.tolist()))
    return texts if np.isfinite(values).all() else [_JSON_WORDS.get(text, text) for text in texts]


def json_integers(values: NDArray[np.int64]) -> list[str]:
    """Integers; as strings where a reader would round them."""
    texts = list(map(str, values.tolist()))
    rounded = (values > _EXACT) | (values < -_EXACT)
    return (
        texts if not rounded.any() else [f'"{text}"' if far else text for text, far in zip(texts, rounded, strict=True)]
    )


def json_plain(value: HParam) -> HParam:
    """A hyperparameter with the numbers that JSON has no words for as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return _JSON_WORDS[repr(value)].strip('"')
    if isinstance(value, dict):
        return {name: json_plain(one) for name, one in value.items()}
    return [json_plain(one) for one in value] if isinstance(value, list) else value


ROWS_AT_ONCE = 1 << 14  # turned into text at a time: what is in memory besides the columns themselves


class DescribedRun(Protocol):
    """What a format may say of a run."""

    @property
    def name(self) -> str: ...
    @property
    def hparams(self) -> Mapping[str, HParam]: ...


class PointFormat(ABC):
    """Writes to a binary file, which stays open: `begin`, then for each run `begin_run` and its rows, then `end`.

    With `superseded`, rows tell whether a later attempt has logged their steps anew. Nothing is kept of rows that were
    added, beyond what fills a block of the format.
    """

    suffixes: ClassVar[tuple[str, ...]]
    is_text: ClassVar[bool] = True

    def __init__(self, file: BinaryIO, *, superseded: bool) -> None:
        self._file, self._superseded = file, superseded

    # A format that has nothing to say before, between or after the points leaves these as they are.

    def begin(self) -> None:  # noqa: B027
        """Before the first run."""

    def begin_run(self, run: DescribedRun) -> None:  # noqa: B027
        """What follows belongs to this run."""

    @abstractmethod
    def add(self, rows: Rows) -> None:
        """The points of one series, of which there is at least one."""

    def end(self) -> None:  # noqa: B027
        """After the last run."""


_NEED_QUOTES = frozenset('",\r\n')


class CsvPoints(PointFormat):
    """UTF-8, lines end with a line feed, doubles with all their digits, `NaN`, `inf` and `-inf`."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    def begin(self) -> None:
        self._file.write(b"run,tag,step,wall_time,value" + b",superseded" * self._superseded + b"\n")

    def add(self, rows: Rows) -> None:
        # Not by the csv module, which leaves a lone carriage return unquoted and formats the names for every line.
        names = f"{_quoted(rows.run)},{_quoted(rows.tag)}"
        end = (f",{str(rows.superseded).lower()}" if self._superseded else "") + "\n"
        for part in rows.parts(ROWS_AT_ONCE):
            columns = zip(part.steps.tolist(), csv_floats(part.wall_times), csv_floats(part.values), strict=True)
            lines = [f"{names},{step},{wall_time},{value}{end}" for step, wall_time, value in columns]
            self._file.write("".join(lines).encode())


def _quoted(name: str) -> str:
    # Readers may drop blanks at the ends of what is not quoted, or take it for nothing.
    is_plain = name.strip() == name and name and not _NEED_QUOTES.intersection(name)
    return name if is_plain else '"' + name.replace('"', '""') + '"'


class JsonPoints(PointFormat):
    """`{"format", "version", "runs": [{"name", "hparams", "scalars": [{"tag", "steps", "wall_times", "values"}]}]}`."""

    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    _runs = 0
    _series = 0

    def begin(self) -> None:
        self._write('{"format": "aboard-points", "version": 1, "runs": [')

    def begin_run(self, run: DescribedRun) -> None:
        self._end_run()
        self._write("," * (self._runs > 0))
        self._runs += 1
        self._series = 0
        name, hparams = _text(writable(run.name)), _text(json_plain(dict(run.hparams)))
        self._write(f'\n{{"name": {name}, "hparams": {hparams}, "scalars": [')

    def add(self, rows: Rows) -> None:
        self._write("," * (self._series > 0))
        self._series += 1
        self._write(f'\n {{"tag": {_text(rows.tag)}')
        if self._superseded:
            self._write(f', "superseded": {_text(rows.superseded)}')
        self._column("steps", rows, lambda part: json_integers(part.steps))
        self._column("wall_times", rows, lambda part: json_floats(part.wall_times))
        self._column("values", rows, lambda part: json_floats(part.values))
        self._write("}")

    def end(self) -> None:
        self._end_run()
        self._write("\n]}\n")

    def _end_run(self) -> None:
        if self._runs:
            self._write("]}")

    def _column(self, name: str, rows: Rows, texts: Callable[[Rows], list[str]]) -> None:
        self._write(f', "{name}": [')
        for number, part in enumerate(rows.parts(ROWS_AT_ONCE)):
            self._write((", " if number else "") + ", ".join(texts(part)))
        self._write("]")

    def _write(self, text: str) -> None:
        self._file.write(text.encode())


class JsonLinesPoints(PointFormat):
    """One object per point: run, tag, step, wall_time, value."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def add(self, rows: Rows) -> None:
        names = f'{{"run": {_text(rows.run)}, "tag": {_text(rows.tag)}'
        end = f', "superseded": {_text(rows.superseded)}}}\n' if self._superseded else "}\n"
        for part in rows.parts(ROWS_AT_ONCE):
            columns = json_integers(part.steps), json_floats(part.wall_times), json_floats(part.values)
            lines = [
                f'{names}, "step": {step}, "wall_time": {wall_time}, "value": {value}{end}'
                for step, wall_time, value in zip(*columns, strict=True)
            ]
            self._file.write("".join(lines).encode())


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


_ROWS_OF_A_GROUP = 1 << 18  # enough to be read quickly, few enough to be collected in memory


class ParquetPoints(PointFormat):
    """Names as dictionaries; short series share a row group, long ones have several."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    is_text: ClassVar[bool] = False

    def __init__(self, file: BinaryIO, *, superseded: bool) -> None:
        super().__init__(file, superseded=superseded)
        parquet: Any = package("pyarrow.parquet", "writing Parquet", install="'aboard[export]'")
        self._writer = parquet.ParquetWriter(
            file, arrow_schema(superseded=superseded), use_dictionary=["run", "tag"], write_statistics=True
        )
        self._waiting: list[Rows] = []
        self._waiting_rows = 0

    def add(self, rows: Rows) -> None:
        for part in rows.parts(_ROWS_OF_A_GROUP):
            if self._waiting_rows + len(part) > _ROWS_OF_A_GROUP:
                self._write_group()
            self._waiting.append(part)
            self._waiting_rows += len(part)

    def end(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._waiting:
            table = arrow_table(self._waiting, superseded=self._superseded)
            self._writer.write_table(table, row_group_size=_ROWS_OF_A_GROUP)
        self._waiting, self._waiting_rows = [], 0


FORMATS: dict[str, type[PointFormat]] = {
    "csv": CsvPoints,
    "parquet": ParquetPoints,
    "json": JsonPoints,
    "jsonl": JsonLinesPoints,
}
_COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst", ".zip"})


def format_for(output: str) -> type[PointFormat]:
    """The format that the suffix of an output names; CSV for an output without one."""
    suffix = Path(output).suffix.lower()
    if suffix in _COMPRESSED:
        raise InvalidValue(
            f"{output!r} should be compressed, which aboard export does not do",
            hint="write .parquet, which is compressed in itself, or write to - and pipe it to a compressor",
        )
    if not suffix:
        return CsvPoints
    for one in FORMATS.values():
        if suffix in one.suffixes:
            return one
    known = [ending for one in FORMATS.values() for ending in one.suffixes]
    raise InvalidValue(
        f"{output!r} ends with {suffix}, which is not a format of aboard export.",
        hint=f"Use {', '.join(known[:-1])} or {known[-1]}, or add --format {next(iter(FORMATS))}.",
    )
