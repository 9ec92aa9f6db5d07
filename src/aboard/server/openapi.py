# SPDX-License-Identifier: Apache-2.0
"""The document of the API: parameters as FastAPI sees them, bodies and answers as they travel, errors with examples."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from fastapi.params import Depends
from fastapi.routing import APIRoute

from aboard import errors
from aboard.api import VERSION
from aboard.api.failure import to_failure
from aboard.errors import AboardError
from aboard.server.answering import content_kinds, sent_kind
from aboard.server.wire_schema import Schema, WireSchemas

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


def document_of(app: FastAPI) -> dict[str, Any]:
    """What an application serves, as OpenAPI 3.1; made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="aboard",
        version=str(VERSION),
        description=_DESCRIPTION,
        routes=app.routes,
    )
    schemas = WireSchemas()
    for route in app.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                _fill(document["paths"][route.path_format][method.lower()], route, schemas)
    # Choices of parameters are described by FastAPI; all else by our own rules.
    described = document.get("components", {}).get("schemas", {})
    choices = {name: schema for name, schema in described.items() if "enum" in schema}
    document["components"] = {
        "schemas": {**dict(sorted({**choices, **schemas.components}.items())), "Failure": _failure_schema()},
        "responses": {"Failure": _failure_answer()},
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    document["security"] = [{"token": []}]
    return document


def _fill(operation: dict[str, Any], route: APIRoute, schemas: WireSchemas) -> None:
    hints = get_type_hints(inspect.unwrap(route.endpoint), include_extras=True)
    for hint in hints.values():
        for note in get_args(hint)[1:]:
            kind = sent_kind(note.dependency) if isinstance(note, Depends) else None
            if kind is not None:
                operation["requestBody"] = {"required": True, "content": _json(schemas.of(kind))}
    told = hints.get("return")
    kinds = content_kinds(route)
    if not (inspect.isclass(told) and issubclass(told, Response)):
        kinds = {"application/json": told}
    content = {name: {"schema": _BINARY if kind is bytes else schemas.of(kind)} for name, kind in kinds.items()}
    operation["responses"] = {"200": {"description": "The answer.", "content": content}, "default": _FAILURE}


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


def _failure_answer() -> dict[str, Any]:
    examples = {error.code: {"summary": str(error.status), "value": to_failure(error)} for error in _EXAMPLES}
    content = {"schema": {"$ref": "#/components/schemas/Failure"}, "examples": examples}
    return {"description": "What is wrong, and what to do about it.", "content": {"application/json": content}}
