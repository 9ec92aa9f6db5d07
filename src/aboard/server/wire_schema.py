# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of what `aboard.api.wire` makes of dataclasses; sentences below their fields become descriptions."""

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

from aboard.model.run import Run

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
        if kind is Run:
            return self._component("Run", lambda: _run(self))
        if dataclasses.is_dataclass(kind):
            plain = cast("type[Any]", kind)
            return self._component(plain.__name__, lambda: self._fields(plain))
        if issubclass(kind, Enum):
            return {"type": "string", "enum": [str(one.value) for one in kind]}
        raise TypeError(f"{kind!r} does not travel")

    def _of_many(self, origin: Any, inner: tuple[Any, ...]) -> Schema:
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if dataclasses.is_dataclass(origin):  # a page of something
            page = cast("type[Any]", origin)
            return self._component(f"{inner[0].__name__}{page.__name__}", lambda: self._fields(page, inner[0]))
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
    hints = get_type_hints(Run)
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
