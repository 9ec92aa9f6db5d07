# SPDX-License-Identifier: Apache-2.0
"""Retention rules, `[[retention]]` in `config.toml`: which runs a server deletes periodically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar, cast

from aboard.errors import InvalidValue
from aboard.model.times import parse_age


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """Which runs go; as `aboard runs retain` takes it. Runs that are not over stay."""

    where: str = ""
    workspaces: tuple[str, ...] = ()
    older_than_seconds: float | None = None
    keep: int = 0
    """So many of them stay, in each experiment."""
    files: bool = False
    """Delete their files too, for good; else they go into the bin."""
    in_bin: bool = False
    """About runs that are in the bin."""


_Value = TypeVar("_Value")
_KEYS = sorted({one.name for one in fields(RetentionRule)} - {"older_than_seconds"} | {"older_than"})


def parse_rules(value: object, place: str) -> tuple[RetentionRule, ...]:
    """The rules in a settings file; `place` names it in errors."""
    tables = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(_rule(table, f"[[retention]] number {number} in {place}") for number, table in enumerate(tables, 1))


def _rule(table: object, place: str) -> RetentionRule:
    if not isinstance(table, Mapping):
        raise InvalidValue(f"{place} is {table!r}, where a table is expected", hint="write [[retention]] above it")
    values = dict(cast("Mapping[str, object]", table))
    if unknown := values.keys() - set(_KEYS):
        raise InvalidValue(f"{place} has an unknown key {min(unknown)!r}", hint=f"known are {', '.join(_KEYS)}")
    older_than = values.pop("older_than", None)
    try:
        age = None if older_than is None else parse_age(_of(str, older_than, "older_than"))
        rule = RetentionRule(
            where=_of(str, values.get("where", ""), "where"),
            workspaces=_names(values.get("workspaces", [])),
            older_than_seconds=age,
            keep=_of(int, values.get("keep", 0), "keep"),
            files=_of(bool, values.get("files", False), "files"),
            in_bin=_of(bool, values.get("in_bin", False), "in_bin"),
        )
    except InvalidValue as error:
        raise InvalidValue(f"{place}: {error.message}", hint=error.hint) from error
    if not rule.where and age is None and not rule.keep:
        raise InvalidValue(f"{place} would delete every run", hint="give it older_than, keep or where")
    if rule.keep < 0:
        raise InvalidValue(f"{place}: keep is {rule.keep}", hint="it begins at 0")
    if rule.in_bin and not rule.files:
        raise InvalidValue(f"{place} is about runs that are in the bin already", hint="give it files = true")
    return rule


def _of(kind: type[_Value], value: object, key: str) -> _Value:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidValue(f"{key} is {value!r}, where {kind.__name__} is expected")
    return value


def _names(value: object) -> tuple[str, ...]:
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(_of(str, name, "workspaces") for name in names)
