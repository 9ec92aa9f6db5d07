# SPDX-License-Identifier: Apache-2.0
"""Points as one JSON document with the columns of each series, or as one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from aboard.exchange.number_text import json_floats, json_integers, json_plain
from aboard.exchange.point_format import ROWS_AT_ONCE, DescribedRun, PointFormat
from aboard.reader.opened.long_table import Rows, writable


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
