# SPDX-License-Identifier: Apache-2.0
"""JSON documents with `format` and `version`: another major version is refused, unknown fields are kept."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Mapping
from typing import cast

from aboard.errors import DamagedDocument, InvalidValue, NewerFormat

VERSION = (1, 0)


def render_document(format_name: str, fields: Mapping[str, object], version: tuple[int, int] = VERSION) -> bytes:
    """The bytes of a document, as short as JSON allows."""
    document = {"format": format_name, "version": version, **fields}
    try:
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a character, from a document that somebody else wrote
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def parse_document(data: bytes, format_name: str, where: str, newest: int = VERSION[0]) -> dict[str, object]:
    """The fields of a document without `format` and `version`; `where` names it in errors.

    `newest` is the newest major version that the caller reads; it reads all before.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedDocument(f"{where} is not JSON: {error}.", hint=_REPAIR) from None
    if not isinstance(document, dict):
        raise DamagedDocument(f"{where} is a {type(document).__name__} and not a JSON object.", hint=_REPAIR)
    fields = {str(name): value for name, value in cast("dict[object, object]", document).items()}
    if fields.pop("format", None) != format_name:
        raise DamagedDocument(f"{where} has not the format {format_name!r}.", hint=_REPAIR)
    _check_version(fields.pop("version", None), where, newest)
    return fields


@contextlib.contextmanager
def fields_of(where: str) -> Generator[None]:
    """Errors about single fields become errors about the document."""
    try:
        yield
    except DamagedDocument:
        raise
    except InvalidValue as error:
        raise DamagedDocument(f"{where}: {error.message.rstrip('.')}.", hint=_REPAIR) from None


def _check_version(version: object, where: str, newest: int) -> None:
    match version:
        case [int(major), int()] if not isinstance(major, bool):
            if not VERSION[0] <= major <= newest:
                raise NewerFormat(
                    f"{where} has the format version {major}, and this aboard knows {newest}.",
                    hint="Install a newer aboard.",
                )
        case _:
            raise DamagedDocument(f"{where} has the version {version!r}, and not two numbers.", hint=_REPAIR)


_REPAIR = "It was cut off or edited. What else is in the store can still be read."
