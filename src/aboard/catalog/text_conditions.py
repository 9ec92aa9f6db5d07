# SPDX-License-Identifier: Apache-2.0
"""Searches in text, written so that both databases find the same."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, true

from aboard.catalog.columns import storable
from aboard.model.query.like import LikePattern, ascii_lower
from aboard.model.query.syntax import Pattern


def text_fits(column: ColumnElement[str], pattern: Pattern, wanted: str, *, is_sqlite: bool) -> ColumnElement[bool]:
    """Whether the text in a column fits, as `aboard.model.query.evaluate.text_fits` says it."""
    text = storable(wanted)
    match pattern:
        case Pattern.CONTAINS:
            return (func.instr if is_sqlite else func.strpos)(column, text) > 0
        case Pattern.STARTS:
            return func.substr(column, 1, len(text)) == text
        case Pattern.ENDS if not text:
            return true()
        case Pattern.ENDS:
            return (func.substr(column, -len(text)) if is_sqlite else func.right(column, len(text))) == text
        case Pattern.LIKE:
            return _fits_pattern(column, LikePattern(text), is_sqlite)
        case Pattern.ILIKE:
            # The collation C and SQLite both make only A to Z small.
            small = func.lower(column if is_sqlite else column.collate("C"))
            return _fits_pattern(small, LikePattern(ascii_lower(text)), is_sqlite)


def _fits_pattern(column: ColumnElement[str], pattern: LikePattern, is_sqlite: bool) -> ColumnElement[bool]:
    # LIKE of SQLite takes capitals for small letters, so its GLOB is used.
    return column.op("GLOB", is_comparison=True)(pattern.as_glob()) if is_sqlite else column.like(pattern.as_like())
