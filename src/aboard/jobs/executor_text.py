# SPDX-License-Identifier: Apache-2.0
"""Executors as a person writes them on a line: `slurm:partition=gpu,time_limit=30`.

Options with several values have `+` between them, options with names as well `NAME:VALUE`: `docker:ports=6006:8080`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from aboard.errors import InvalidType, InvalidValue
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_class

_WORDS = {"true": True, "yes": True, "false": False, "no": False}


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
    return kind, {option: value for part in rest.split(",") if part.strip() for option, value in [_option(kind, part)]}


def _option(kind: type[Executor], part: str) -> tuple[str, object]:
    name, equals, text = part.partition("=")
    name, text = name.strip(), text.strip()
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    if not equals:
        raise InvalidValue(f"{part!r} is not OPTION=VALUE", hint=f"options of {kind.name}: {', '.join(types)}")
    match types.get(name):
        case "bool":
            if text.lower() not in _WORDS:
                raise InvalidValue(f"{name}={text!r} of {kind.name} is not yes or no", hint="write true or false")
            return name, _WORDS[text.lower()]
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
            return name, dict(_pair(kind, name, pair, is_number="int" in other) for pair in text.split("+"))
        case _:
            hint = f"in Python: aboard.executors.{kind.__name__}({name}=…)"
            raise InvalidValue(f"the option {name} of {kind.name} cannot be written on a line", hint=hint)


def _pair(kind: type[Executor], option: str, text: str, *, is_number: bool) -> tuple[object, object]:
    """One entry of an option that maps names to values; only the first colon parts them."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not colon or not name:
        hint = f"write {option}=NAME:VALUE+NAME:VALUE, or in Python aboard.executors.{kind.__name__}({option}={{…}})"
        raise InvalidValue(f"{text!r} in the option {option} of {kind.name} is not NAME:VALUE", hint=hint)
    try:
        return (int(name), int(value)) if is_number else (name, value)
    except ValueError:
        raise InvalidValue(f"{option}={text!r} of {kind.name} is not a number and a number") from None
