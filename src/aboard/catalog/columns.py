# SPDX-License-Identifier: Apache-2.0
"""Column types that store the same values in SQLite and PostgreSQL. Released migrations use them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect, Double, Integer, Text, TypeDecorator
from sqlalchemy.types import TypeEngine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# PostgreSQL cannot hold NUL, and neither database half of a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

# SQLite counts up only what is declared INTEGER; it holds 64 bits all the same.
Number = BigInteger().with_variant(Integer(), "sqlite")
Real: Double[float] = Double()


def storable(text: str) -> str:
    """`text` with the few characters that a database cannot hold replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def microseconds(moment: datetime) -> int:
    """A moment as the database holds it; a whole number is compared and sorted alike everywhere."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


class Words(TypeDecorator[str]):
    """Text that is compared and sorted by code points, whatever the database's own language is."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text(collation="C") if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class Moment(TypeDecorator[datetime]):
    """A moment, held as microseconds since 1970 in UTC."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=value)


class Json(TypeDecorator[Any]):
    """A document, held as JSON text in ASCII, so that any text in it can be stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, sort_keys=True, default=str)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)
