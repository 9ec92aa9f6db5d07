# SPDX-License-Identifier: Apache-2.0
"""Dataclasses, pages and errors of the API as JSON and back.

The reader ignores fields that it does not know, and missing ones have their defaults, so that a client and a server of
different versions understand each other. Times are RFC 3339; NaN, infinities and long integers are written as text. An
error is `{"error": {"code": …, "message": …, "hint": …}}` and becomes the same exception again.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from aboard import errors
from aboard.errors import AboardError, InvalidValue, QueryError
from aboard.model.documents import from_json_number, to_json_number
from aboard.model.hparams import hparams_from_json
from aboard.model.runs import RunRecord, run_from_document, run_to_document
from aboard.model.times import parse_time, time_text

_T = TypeVar("_T")


def to_wire(value: object) -> Any:
    """A value as JSON can hold it."""
    match value:
        case None | str() | bool():
            return str(value) if isinstance(value, Enum) else value
        case int() | float():
            return to_json_number(value)
        case datetime():
            return time_text(value)
        case RunRecord():
            return run_to_document(value)
        case Mapping():
            return {str(key): to_wire(entry) for key, entry in cast("Mapping[object, object]", value).items()}
        case Sequence():
            return [to_wire(entry) for entry in cast("Sequence[object]", value)]
        case _ if dataclasses.is_dataclass(value):
            return {one.name: to_wire(getattr(value, one.name)) for one in dataclasses.fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} does not travel")


def from_wire(kind: type[_T], value: object, where: str = "the document") -> _T:
    """The value of a kind that stands in JSON; an error names the place that is wrong."""
    return _read(kind, value, where)


def _read(kind: Any, value: object, where: str) -> Any:
    if kind is Any or kind is object:
        return value
    if get_origin(kind) in (types.UnionType, Union):
        return _read_union(get_args(kind), value, where)
    if get_origin(kind) is not None:
        return _read_many(kind, value, where)
    if kind is RunRecord:
        return run_from_document(value)
    if dataclasses.is_dataclass(kind):
        return _read_fields(cast("type[Any]", kind), value, where)
    return _read_plain(kind, value, where)


def _read_plain(kind: Any, value: object, where: str) -> Any:
    if kind is datetime:
        return parse_time(value)
    if kind is float:
        return from_json_number(value, where)
    if kind is int and isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 30:
        return int(value)
    if issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise _wrong(kind, value, where) from None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _wrong(kind, value, where)
    return value


def _read_union(kinds: tuple[Any, ...], value: object, where: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    wanted = [kind for kind in kinds if kind is not type(None)]
    if len(wanted) == 1:
        return _read(wanted[0], value, where)
    # Several plain kinds stand for a hyperparameter or a value of a column.
    return hparams_from_json({"value": value})["value"]


def _read_many(kind: Any, value: object, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong(dict, value, where)
        entries = cast("Mapping[object, object]", value)
        return {
            _read(inner[0], str(key), where): _read(inner[1], entry, f"{where}.{key}") for key, entry in entries.items()
        }
    if dataclasses.is_dataclass(origin):  # a page of something
        return _read_fields(cast("type[Any]", origin), value, where, inner[0])
    if not isinstance(value, (list, tuple)):
        raise _wrong(list, value, where)
    return tuple(_read(inner[0], entry, f"{where}[{at}]") for at, entry in enumerate(cast("list[object]", value)))


def _read_fields(kind: type[Any], value: object, where: str, of: Any = None) -> Any:
    if not isinstance(value, Mapping):
        raise _wrong(dict, value, where)
    given = cast("Mapping[str, object]", value)
    hints = _hints(kind)
    found: dict[str, Any] = {}
    for one in dataclasses.fields(kind):
        if one.name in given:
            hint = hints[one.name]
            hint = tuple[of, ...] if of is not None and get_args(hint)[:1] == (_parameter(kind),) else hint
            found[one.name] = _read(hint, given[one.name], f"{where}.{one.name}")
        elif one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
            raise InvalidValue(f"{where} has no {one.name!r}", hint="give it, or see the documentation of the API")
    return kind(**found)


@functools.cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _parameter(kind: type[Any]) -> Any:
    return kind.__parameters__[0]


def _wrong(kind: type[Any], value: object, where: str) -> InvalidValue:
    names = {dict: "a mapping", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}
    if issubclass(kind, Enum):
        wanted = f"one of {', '.join(str(one.value) for one in kind)}"
    else:
        wanted = names.get(kind, kind.__name__)
    return InvalidValue(f"{where} is {value!r}, which is not {wanted}")


_Item_co = TypeVar("_Item_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """Some entries, and what to give as `after` to get those behind them; None at the end."""

    items: tuple[_T, ...]
    next: str | None = None


class PageLike(Protocol[_Item_co]):
    """A page of the API or of the catalog."""

    @property
    def items(self) -> Sequence[_Item_co]:
        """Some entries."""
        ...

    @property
    def next(self) -> str | None:
        """Where the page behind it begins."""
        ...


def on_all_pages(page_after: Callable[[str | None], PageLike[_T]]) -> Iterator[_T]:
    """The entries of every page; `page_after` gets one page, the first one after None."""
    after: str | None = None
    while True:
        page = page_after(after)
        yield from page.items
        after = page.next
        if after is None:
            return


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
