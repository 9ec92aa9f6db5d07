# SPDX-License-Identifier: Apache-2.0
"""The seam between the points of runs and the formats in which they are written."""

from __future__ import annotations

from typing import BinaryIO, ClassVar

from aboard.reader.opened.long_table import Rows
from aboard.reader.opened.opened_run import OpenedRun

ROWS_AT_ONCE = 1 << 14  # turned into text at a time: what is in memory besides the columns themselves


class PointFormat:
    """Writes to a binary file, which stays open: `begin`, then for each run `begin_run` and its rows, then `end`.

    With `superseded`, rows tell whether a later attempt has logged their steps anew. Nothing is kept of rows that were
    added, beyond what fills a block of the format.
    """

    suffixes: ClassVar[tuple[str, ...]]
    is_text: ClassVar[bool] = True

    def __init__(self, file: BinaryIO, *, superseded: bool) -> None:
        self._file, self._superseded = file, superseded

    def begin(self) -> None:
        """Before the first run."""

    def begin_run(self, run: OpenedRun) -> None:
        """What follows belongs to this run."""

    def add(self, rows: Rows) -> None:
        """The points of one series, of which there is at least one."""
        raise NotImplementedError

    def end(self) -> None:
        """After the last run."""
