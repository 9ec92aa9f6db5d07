# SPDX-License-Identifier: Apache-2.0
"""Scalars read back from the event files of a writer, so that nothing has to be kept in memory for an export."""

from __future__ import annotations

import math
from collections.abc import Iterable

from aboard._native import scalars_in_records
from aboard.writer.file_writer import FileWriter

Points = dict[str, list[tuple[float, int, float | str]]]


class ScalarExport:
    """Hands out each written point once."""

    def __init__(self) -> None:
        self._read_up_to: dict[bytes, int] = {}

    def new_points(self, writers: Iterable[tuple[FileWriter, bool]]) -> Points:
        """(wall time, step, value) by series. A folder of `add_scalars` (flag True) holds and names one series."""
        points: Points = {}
        for writer, is_series in writers:
            writer.flush()
            for path in writer.sink.paths:
                for tag, wall_time, step, value in self._new_scalars(path):
                    name = writer.get_logdir() if is_series else f"{writer.get_logdir()}/{tag}"
                    points.setdefault(name, []).append((wall_time, step, _json_number(value)))
        return points

    def _new_scalars(self, path: bytes) -> list[tuple[str, float, int, float]]:
        offset = self._read_up_to.get(path, 0)
        with open(path, "rb") as file:
            file.seek(offset)
            scalars, consumed = scalars_in_records(file.read())
        self._read_up_to[path] = offset + consumed
        return scalars


def _json_number(value: float) -> float | str:
    # JSON has no word for these; a string keeps the document valid.
    return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
