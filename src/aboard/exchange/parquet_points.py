# SPDX-License-Identifier: Apache-2.0
"""Points as Parquet, through pyarrow."""

from __future__ import annotations

from typing import Any, BinaryIO, ClassVar

from aboard.exchange.point_format import PointFormat
from aboard.reader.opened.frames import arrow_schema, arrow_table, package
from aboard.reader.opened.long_table import Rows

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
