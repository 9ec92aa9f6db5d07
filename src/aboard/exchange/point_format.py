# SPDX-License-Identifier: Apache-2.0
"""The seam between the points of runs and the formats in which they are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import BinaryIO, ClassVar, Protocol

from aboard.reader.hparams import HParam
from aboard.reader.opened.long_table import Rows

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
