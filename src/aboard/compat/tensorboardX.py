# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N999 - the module has the name of the library
"""tensorboardX's names: a script changes its import line to `from aboard.compat.tensorboardX import SummaryWriter`.

The writers differ from `aboard.SummaryWriter` in one point: they spell tags as tensorboardX does (`clean_tags=True`).
A folder that tensorboardX began is continued with the same curves.
"""

from __future__ import annotations

from typing import Any

from aboard.writer import global_writer, summary_writer
from aboard.writer.factories import RecordWriter
from aboard.writer.file_writer import FileWriter

__all__ = ["FileWriter", "GlobalSummaryWriter", "RecordWriter", "SummaryWriter"]


class SummaryWriter(summary_writer.SummaryWriter):
    """`aboard.SummaryWriter` with `clean_tags=True`."""

    def __init__(self, *arguments: Any, clean_tags: bool = True, **named: Any) -> None:
        super().__init__(*arguments, clean_tags=clean_tags, **named)


class GlobalSummaryWriter(global_writer.GlobalSummaryWriter):
    """`aboard.GlobalSummaryWriter` with `clean_tags=True`."""

    def __init__(self, *arguments: Any, clean_tags: bool = True, **named: Any) -> None:
        super().__init__(*arguments, clean_tags=clean_tags, **named)
