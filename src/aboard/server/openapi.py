# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of the server, made from the types and docstrings of handlers and of `aboard.api`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response

from aboard import errors
from aboard.api import VERSION
from aboard.api.wire import to_failure
from aboard.errors import AboardError
from aboard.model.runs import RunRecord
from aboard.server.routes.binding import BoundParameter
from aboard.server.routes.operations import Operation

Schema = dict[str, Any]
_LONG_INTEGER: Schema = {
    "description": "A whole number; beyond 2^53 as a text.",
    "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}],
}
_NUMBER: Schema = {
    "description": "A number; NaN and the infinities as a text.",
    "anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}],
}
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
    object: {},
}


class WireSchemas:
    """Schemas by kind; those of dataclasses are components, which the others refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a value of this kind."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if kind is int:
            return self._component("WholeNumber", lambda: _LONG_INTEGER)
        if kind is float:
            return self._component("Number", lambda: _NUMBER)
        if get_origin(kind) in (types.UnionType, Union):
            return {"anyOf": [self.of(one) for one in get_args(kind)]}
        if get_origin(kind) is not None:
            return self._of_many(get_origin(kind), get_args(kind))
        if kind is RunRecord:
            return self._component("Run", lambda: _run(self))
        if dataclasses.is_dataclass(kind):
            plain = cast("type[Any]", kind)
            return self._component(_name(plain), lambda: self._fields(plain))
        if issubclass(kind, Enum):
            return {"type": "string", "enum": [str(one.value) for one in kind]}
        raise TypeError(f"{kind!r} does not travel")

    def _of_many(self, origin: Any, inner: tuple[Any, ...]) -> Schema:
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if dataclasses.is_dataclass(origin):  # a page of something
            page = cast("type[Any]", origin)
            return self._component(f"{_name(inner[0])}{page.__name__}", lambda: self._fields(page, inner[0]))
        return {"type": "array", "items": self.of(inner[0])}

    def _fields(self, kind: type[Any], of: Any = None) -> Schema:
        hints, said = get_type_hints(kind), _descriptions(kind)
        properties: dict[str, Schema] = {}
        required: list[str] = []
        for one in dataclasses.fields(kind):
            hint = hints[one.name]
            if of is not None and get_args(hint)[:1] == kind.__parameters__:
                hint = tuple[of, ...]
            properties[one.name] = {**self.of(hint), **({"description": said[one.name]} if one.name in said else {})}
            if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
                required.append(one.name)
        return {
            "type": "object",
            "description": inspect.getdoc(kind) or "",
            "properties": properties,
            **({"required": required} if required else {}),
        }

    def _component(self, name: str, make: Any) -> Schema:
        if name not in self.components:
            self.components[name] = {}  # one that holds others of its kind refers to itself
            self.components[name] = make()
        return {"$ref": f"#/components/schemas/{name}"}


def _name(kind: type[Any]) -> str:
    """The name of a schema: a record of the model is named after its resource, as in Experiment."""
    return kind.__name__.removesuffix("Record")


def _run(schemas: WireSchemas) -> Schema:
    """A run travels as its document, in which fields without a value are left out and others may be added."""
    whole, moment, text = {"type": "integer"}, _PLAIN[datetime], _PLAIN[str]
    number, long_integer = schemas.of(float), schemas.of(int)
    point = {
        "type": "object",
        "properties": {"value": number, "step": long_integer, "wall_time": number},
        "required": ["value", "step", "wall_time"],
    }
    metric = {
        "type": "object",
        "properties": {"last": point, "min": point, "max": point, "count": long_integer},
        "required": ["last", "count"],
    }
    said = {"text": text, "author": text, "written": moment}
    note = {"type": "object", "properties": said, "required": ["text"]}
    hints = get_type_hints(RunRecord)
    status = schemas.of(hints["status"])
    attempt = {
        "type": "object",
        "properties": {
            "number": whole, "status": status, "started": moment, "ended": moment, "heartbeat": moment,
            "host": text, "exit_code": whole, "reason": text,
        },
        "required": ["number", "status"],
    }  # fmt: skip
    properties: dict[str, Schema] = {
        "uid": text,
        "workspace": text,
        "status": status,
        **dict.fromkeys(("experiment", "name", "user", "host", "store", "reason"), text),
        **dict.fromkeys(("number", "experiment_number", "revision", "exit_code", "files", "bytes"), whole),
        **dict.fromkeys(("created", "started", "ended", "heartbeat", "updated", "deleted"), moment),
        "hparams": schemas.of(hints["hparams"]),
        "metrics": {"type": "object", "additionalProperties": metric},
        "tags": schemas.of(hints["tags"]),
        "notes": {"type": "array", "items": note},
        "attempts": {"type": "array", "items": attempt},
    }
    return {
        "type": "object",
        "description": "A run as its store and the catalog know it; what else its document says stands beside.",
        "properties": properties,
        "required": ["uid", "workspace", "status", "created", "hparams", "metrics", "tags", "notes", "attempts"],
    }


def _descriptions(kind: type[Any]) -> dict[str, str]:
    """The sentences that stand below fields."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found


_DESCRIPTION = """Runs, experiments, workspaces and boards of an aboard server.

Lists are `{"items": […], "next": …}`; give `next` back as `after`. NaN, infinities and integers beyond 2^53 stand as
texts, times are RFC 3339. Later servers may add fields to answers: leave unread what is not known.
"""
_EXAMPLES: tuple[AboardError, ...] = (
    errors.InvalidValue("limit='many' is not allowed: input should be a valid integer", hint="see what is allowed"),
    errors.UnknownName("there is no run 'run7'", hint="nearest: run6, run8"),
    errors.Unauthorized("a token is needed", hint="open the address that was printed at the start"),
    errors.Forbidden("this server is ended by whoever started it", hint="Ctrl-C where it runs, or SIGTERM"),
    errors.Conflict("a workspace 'main' is there already", hint="choose another name"),
    errors.StoreUnreachable("s3://bucket/runs does not answer in time", hint="try again later"),
)
_BINARY: Schema = {"type": "string", "format": "binary"}
_FAILURE = {"$ref": "#/components/responses/Failure"}


def document_of(app: Starlette) -> dict[str, Any]:
    """What an application serves, as OpenAPI 3.1; made once."""
    if not hasattr(app.state, "document"):
        app.state.document = _build(app)
    return app.state.document


def _build(app: Starlette) -> dict[str, Any]:
    schemas = WireSchemas()
    paths: dict[str, Schema] = {}
    for route in app.routes:
        if isinstance(route, Operation):
            paths.setdefault(route.path_format, {})[route.method.lower()] = _describe_operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "aboard", "description": _DESCRIPTION, "version": str(VERSION)},
        "paths": paths,
        "components": {
            "schemas": {**dict(sorted(schemas.components.items())), "Failure": _failure_schema()},
            "responses": {"Failure": _failure_response()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _describe_operation(route: Operation, schemas: WireSchemas) -> Schema:
    text = inspect.getdoc(route.handler) or ""
    described: Schema = {
        "tags": [route.tag],
        "summary": text.partition("\n")[0].rstrip("."),
        "description": text,
        "operationId": f"{route.tag}_{route.handler.__name__}",
    }
    if parameters := [_describe_parameter(one, schemas) for one in route.binding.all_parameters()]:
        described["parameters"] = parameters
    if route.binding.body is not None:
        described["requestBody"] = {"required": True, "content": _json(schemas.of(route.binding.body.kind))}
    returned = get_type_hints(route.handler).get("return")
    kinds = route.content
    if not (inspect.isclass(returned) and issubclass(returned, Response)):
        kinds = {"application/json": returned}
    content = {name: {"schema": _BINARY if kind is bytes else schemas.of(kind)} for name, kind in kinds.items()}
    described["responses"] = {"200": {"description": "The answer.", "content": content}, "default": _FAILURE}
    return described


def _describe_parameter(parameter: BoundParameter, schemas: WireSchemas) -> Schema:
    (schema,), choices = msgspec.json.schema_components([parameter.kind], ref_template="#/components/schemas/{name}")
    schemas.components |= choices
    if not parameter.is_required and parameter.source.default_factory is None and parameter.default is not None:
        schema["default"] = parameter.default
    described = {"description": text} if (text := parameter.source.description) else {}
    return {
        "name": parameter.key,
        "in": parameter.source.place,
        "required": parameter.is_required,
        "schema": schema,
        **described,
    }


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _failure_schema() -> Schema:
    text = {"type": "string"}
    error = {
        "type": "object",
        "properties": {
            "code": {**text, "description": "Stable; the name of an exception of `aboard.errors`."},
            "message": text,
            "hint": {**text, "description": "The next step, where there is one."},
            "problem": {**text, "description": "Of a filter that cannot be read, without the place."},
            "text": {**text, "description": "The filter."},
            "start": {"type": "integer", "description": "Where in it, counted from 0."},
            "end": {"type": "integer"},
        },
        "required": ["code", "message", "hint"],
    }
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}


def _failure_response() -> dict[str, Any]:
    examples = {error.code: {"summary": str(error.status), "value": to_failure(error)} for error in _EXAMPLES}
    content = {"schema": {"$ref": "#/components/schemas/Failure"}, "examples": examples}
    return {"description": "What is wrong, and what to do about it.", "content": {"application/json": content}}
