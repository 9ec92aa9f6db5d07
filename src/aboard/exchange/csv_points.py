# SPDX-License-Identifier: Apache-2.0
"""Points as CSV: one line each, names quoted where they need it."""

from __future__ import annotations

from typing import ClassVar

from aboard.exchange.number_text import csv_floats
from aboard.exchange.point_format import ROWS_AT_ONCE, PointFormat
from aboard.reader.opened.long_table import Rows

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
