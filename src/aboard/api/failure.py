# SPDX-License-Identifier: Apache-2.0
"""Errors as documents: `{"error": {"code": …, "message": …, "hint": …}}`, and back to the exception they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from aboard import errors
from aboard.errors import AboardError, QueryError


def to_failure(error: AboardError) -> dict[str, object]:
    """The document of an error."""
    said: dict[str, object] = {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, QueryError):
        said |= {"problem": error.problem, "text": error.text, "start": error.start, "end": error.end}
    return {"error": said}


def from_failure(document: object, status: int, fallback: str) -> AboardError:
    """The exception that a document tells of; an AboardError with `fallback` where it tells of none."""
    said = cast("Mapping[str, object]", document).get("error") if isinstance(document, Mapping) else None
    if not isinstance(said, Mapping):
        return AboardError(f"the server answered with status {status}: {fallback}")
    told = cast("Mapping[str, object]", said)
    message, hint = str(told.get("message", fallback)), str(told.get("hint", ""))
    match told:
        case {"problem": str(problem), "text": str(text), "start": int(start), "end": int(end)}:
            return QueryError(problem, text, start, end, hint=hint)
        case _:
            pass
    kind = {one.code: one for one in reversed(list(_kinds(AboardError)))}.get(str(told.get("code")), AboardError)
    try:
        return kind(message, hint=hint)
    except TypeError:  # an error that needs more than its message
        return AboardError(message, hint=hint)


def _kinds(kind: type[AboardError]) -> Iterator[type[AboardError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _kinds(below)
