# SPDX-License-Identifier: Apache-2.0
"""Bind requests to the parameters of handlers, which declare with `Annotated` where each value comes from.

    def list(self, run: Annotated[str, Path(), unquote], limit: Annotated[int, Query(ge=1)] = 50) -> …

Values are converted and checked by msgspec; callables among the annotations are applied afterwards, in their order.
The signature of a handler is read at its first request, so that a start pays for no route that nobody uses.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Optional, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from starlette.requests import Request

from aboard.errors import InvalidValue

_LONGEST_SHOWN = 200
_WORDS = {"`int`": "a whole number", "`float`": "a number", "`bool`": "true or false", "`str`": "a text"}
_MISSING: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Where a value comes from. The name in the request is that of the parameter, or `alias`."""

    alias: str = ""
    description: str = ""
    ge: int | None = None
    le: int | None = None
    gt: int | None = None
    lt: int | None = None
    default_factory: Callable[[], Any] | None = None


class Path(Declared):
    """A part of the path."""

    place: ClassVar[str] = "path"


class Query(Declared):
    """A parameter of the query; a list takes all parameters of that name."""

    place: ClassVar[str] = "query"


class Header(Declared):
    """A header; underscores of the parameter's name stand for hyphens."""

    place: ClassVar[str] = "header"


@dataclass(frozen=True, slots=True)
class FromRequest:
    """A value that a function makes of the request."""

    make: Callable[[Request], Any]


@dataclass(frozen=True, slots=True)
class Body:
    """The body of the request, which `read` decodes; `kind` is its type, for the API document."""

    kind: type[Any]
    read: Callable[[Request], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Several parameters as one value, which a function with declared parameters makes."""

    make: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class BoundParameter:
    """One declared parameter of a handler."""

    name: str
    source: Path | Query | Header
    key: str
    kind: Any
    """Its type, with the limits of its source."""
    default: Any
    checks: Sequence[Callable[[Any], Any]]

    @property
    def is_required(self) -> bool:
        return self.default is _MISSING and self.source.default_factory is None

    def read(self, request: Request) -> Any:
        """The value in a request, or the default."""
        given = self._given(request)
        if given is None or given == []:
            if self.is_required:
                raise InvalidValue(f"{self.key} is missing")
            given = self.default if self.source.default_factory is None else self.source.default_factory()
        else:
            given = self._convert(given)
        for check in self.checks:
            given = check(given)
        return given

    def _given(self, request: Request) -> Any:
        match self.source:
            case Path():
                return request.path_params[self.key]
            case Header():
                return request.headers.get(self.key)
            case _:
                values = request.query_params
                return values.getlist(self.key) if _is_list(self.kind) else values.get(self.key)

    def _convert(self, given: object) -> Any:
        try:
            return msgspec.convert(given, self.kind, strict=False)
        except msgspec.ValidationError as error:
            shown = repr(given)
            if len(shown) > _LONGEST_SHOWN:
                shown = f"{shown[:_LONGEST_SHOWN]}…"
            raise InvalidValue(f"{self.key}={shown} is not allowed: {_explain(error, self.kind)}") from None


class Binding:
    """What a handler takes."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.parameters: list[BoundParameter] = []
        self.body: Body | None = None
        self._body_name = ""
        self._made: list[tuple[str, FromRequest]] = []
        self._grouped: list[tuple[str, Callable[..., Any], Binding]] = []
        hints = get_type_hints(inspect.unwrap(handler), include_extras=True)
        for parameter in inspect.signature(handler).parameters.values():
            self._add(parameter, hints[parameter.name])

    def all_parameters(self) -> Sequence[BoundParameter]:
        """The parameters, with those of groups."""
        return [*self.parameters, *(one for _, _, group in self._grouped for one in group.all_parameters())]

    async def read(self, request: Request) -> Mapping[str, Any]:
        """The arguments for a request; an error names everything that is wrong with its parameters."""
        arguments = {name: made.make(request) for name, made in self._made}
        arguments |= self.read_declared(request)
        if self.body is not None:
            arguments[self._body_name] = await self.body.read(request)
        return arguments

    def read_declared(self, request: Request) -> dict[str, Any]:
        """The arguments from path, query and headers."""
        arguments: dict[str, Any] = {}
        problems: list[str] = []
        for parameter in self.parameters:
            try:
                arguments[parameter.name] = parameter.read(request)
            except InvalidValue as error:
                problems.append(error.message)
        for name, make, group in self._grouped:
            try:
                arguments[name] = make(**group.read_declared(request))
            except InvalidValue as error:
                problems.append(error.message)
        if problems:
            raise InvalidValue("; ".join(problems), hint="see /api/v1/openapi.json for what is allowed")
        return arguments

    def _add(self, parameter: inspect.Parameter, hint: Any) -> None:
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        (source,) = [note for note in notes if isinstance(note, Declared | FromRequest | Body | Grouped)] or [Query()]
        match source:
            case FromRequest():
                self._made.append((parameter.name, source))
            case Body():
                self.body, self._body_name = source, parameter.name
            case Grouped():
                self._grouped.append((parameter.name, source.make, Binding(source.make)))
            case _:
                checks = [note for note in notes if callable(note)]
                self.parameters.append(_declared(parameter, kind, cast("Query", source), checks))


def _declared(
    parameter: inspect.Parameter, kind: Any, source: Path | Query | Header, checks: Sequence[Callable[[Any], Any]]
) -> BoundParameter:
    name = parameter.name.replace("_", "-") if isinstance(source, Header) else parameter.name
    limits = {one: limit for one in ("ge", "le", "gt", "lt") if (limit := getattr(source, one)) is not None}
    if limits:
        kind = _limited(kind, msgspec.Meta(**limits))
    return BoundParameter(parameter.name, source, source.alias or name, kind, parameter.default, checks)


def _limited(kind: Any, limits: msgspec.Meta) -> Any:
    """Limits stand at the number, also where None is allowed beside it."""
    if get_origin(kind) in (Union, UnionType):
        (number,) = [one for one in get_args(kind) if one is not type(None)]
        return Optional[Annotated[number, limits]]  # noqa: UP045 - a union of an alias has no operator
    return Annotated[kind, limits]


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list


def _explain(error: msgspec.ValidationError, kind: Any) -> str:
    if choices := _choices(kind):
        return f"use {', '.join(choices[:-1])} or {choices[-1]}"
    text = str(error).partition(" - at ")[0].partition(", got")[0]
    for name, words in _WORDS.items():
        text = text.replace(name, words)
    return text[:1].lower() + text[1:]


def _choices(kind: Any) -> list[str]:
    """The values of an enumeration or a literal, also in a list or beside None."""
    if get_origin(kind) is Literal:
        return [str(one) for one in get_args(kind)]
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return [str(one.value) for one in kind]
    return [choice for inner in get_args(kind) for choice in _choices(inner)]
