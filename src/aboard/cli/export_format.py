# SPDX-License-Identifier: Apache-2.0
"""The formats of `aboard export` for the command line's help and completion, which must load nothing else."""

from enum import StrEnum


class ExportFormat(StrEnum):
    """Names as in aboard.exchange.formats."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"
    JSONL = "jsonl"
