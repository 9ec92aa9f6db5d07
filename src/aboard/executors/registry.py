# SPDX-License-Identifier: Apache-2.0
"""Executors by name and by text: aboard's own, and those that other packages add as entry points of `aboard.executors`.

As text an executor is `slurm:partition=gpu,time_limit=30`. Options with several values have `+` between them, options
that map names to values also `NAME:VALUE`: `docker:ports=6006:8080`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from aboard.errors import InvalidType, InvalidValue, MissingPackage, UnknownName
from aboard.executors.executor import Executor
from aboard.foundation.text import did_you_mean
from aboard.model.units import UnitHandle

GROUP = "aboard.executors"
_OWN = {
    "docker": "aboard.executors.docker:Docker",
    "kubernetes": "aboard.executors.kubernetes.executor:Kubernetes",
    "local": "aboard.executors.local:Local",
    "slurm": "aboard.executors.slurm:Slurm",
    "ssh": "aboard.executors.ssh:Ssh",
    "vertex": "aboard.executors.vertex:Vertex",
}
_OWN_WITHOUT_PORTS = frozenset({"vertex"})  # said here too: a list of names must not load every client


def executor_names() -> list[str]:
    return sorted({*_OWN, *(point.name for point in entry_points(group=GROUP))})


def executor_class(name: str) -> type[Executor]:
    """The class behind a name. aboard's own names cannot be taken by others."""
    if name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _load_entry_point(point)
    names = executor_names()
    hint = f"{did_you_mean(name, names)}executors are: {', '.join(names)}"
    raise UnknownName(f"there is no executor {name!r}", hint=hint)


def has_ports(name: str) -> bool:
    """Whether units of that executor can be reached; one that cannot be loaded says why when it is used."""
    if name in _OWN:
        return name not in _OWN_WITHOUT_PORTS
    try:
        return executor_class(name).has_ports
    except (MissingPackage, InvalidType):
        return True


def make_executor(name: str, options: Mapping[str, object] | None = None) -> Executor:
    """The executor of that name with these options; an option that it lacks is an error that lists its own."""
    return executor_class(name)(**(options or {}))


def executor_of(handle: UnitHandle) -> Executor:
    """The executor that a handle belongs to, made as it was when the unit was submitted."""
    return make_executor(handle.executor, handle.options)


def _load_entry_point(point: EntryPoint) -> type[Executor]:
    try:
        found = point.load()
    except ImportError as error:
        hint = f"it comes from {point.value}; install what it needs, or remove the package"
        raise MissingPackage(f"the executor {point.name} cannot be loaded: {error}", hint=hint) from error
    if not (isinstance(found, type) and issubclass(found, Executor)):
        hint = "an executor is a class that inherits from aboard.executors.Executor"
        raise InvalidType(f"the executor {point.name} is {point.value}, which is not one", hint=hint)
    return found


_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def executor_from(given: Executor | str | None, default: str) -> Executor:
    """The executor that was given, or the one that a text means."""
    if isinstance(given, Executor):
        return given
    if given is not None and not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = "give aboard.executors.Local(), Slurm(…) and the like, or a text as 'slurm:partition=gpu'"
        raise InvalidType(f"{given!r} is not an executor", hint=hint)
    kind, options = parse_executor(given or default)
    return kind(**options)


def parse_executor(text: str) -> tuple[type[Executor], dict[str, Any]]:
    """The kind of executor and the options that a text names."""
    name, _, rest = text.partition(":")
    kind = executor_class(name.strip())
    return kind, {
        option: value for part in rest.split(",") if part.strip() for option, value in [_parse_option(kind, part)]
    }


def _parse_option(kind: type[Executor], part: str) -> tuple[str, object]:
    name, equals, text = part.partition("=")
    name, text = name.strip(), text.strip()
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    if not equals:
        raise InvalidValue(f"{part!r} is not OPTION=VALUE", hint=f"options of {kind.name}: {', '.join(types)}")
    match types.get(name):
        case "bool":
            if text.lower() not in _BOOLEANS:
                raise InvalidValue(f"{name}={text!r} of {kind.name} is not yes or no", hint="write true or false")
            return name, _BOOLEANS[text.lower()]
        case "int" | "int | None" | "float" | "float | None":
            try:
                return name, float(text) if types[name].startswith("float") else int(text)
            except ValueError:
                raise InvalidValue(f"{name}={text!r} of {kind.name} is not a number") from None
        case "str" | None:  # one that it does not have is refused when it is made
            return name, text
        case other if other.startswith("tuple"):
            return name, tuple(text.split("+"))
        case other if other.startswith("Mapping"):
            return name, dict(_parse_pair(kind, name, pair, is_number="int" in other) for pair in text.split("+"))
        case _:
            hint = f"in Python: aboard.executors.{kind.__name__}({name}=…)"
            raise InvalidValue(f"the option {name} of {kind.name} cannot be written on a line", hint=hint)


def _parse_pair(kind: type[Executor], option: str, text: str, *, is_number: bool) -> tuple[object, object]:
    """One entry of an option that maps names to values; only the first colon parts them."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not colon or not name:
        hint = f"write {option}=NAME:VALUE+NAME:VALUE, or in Python aboard.executors.{kind.__name__}({option}={{…}})"
        raise InvalidValue(f"{text!r} in the option {option} of {kind.name} is not NAME:VALUE", hint=hint)
    try:
        return (int(name), int(value)) if is_number else (name, value)
    except ValueError:
        hint = f"write {option}=6006:8080, and + between several"
        raise InvalidValue(f"{option}={text!r} of {kind.name} is not a number and a number", hint=hint) from None
