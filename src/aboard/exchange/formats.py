# SPDX-License-Identifier: Apache-2.0
"""The formats of an export by name, and which one an output asks for."""

from __future__ import annotations

from pathlib import Path

from aboard.errors import InvalidValue
from aboard.exchange.csv_points import CsvPoints
from aboard.exchange.json_points import JsonLinesPoints, JsonPoints
from aboard.exchange.parquet_points import ParquetPoints
from aboard.exchange.point_format import PointFormat

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
