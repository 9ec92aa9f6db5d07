# SPDX-License-Identifier: Apache-2.0
"""The runs that a person names: `run343`, `run310,run341`, `run10-run20`, `ws1/base*`, or a filter."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Sequence

from aboard.client.client import Client
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.names import run_name
from aboard.model.run import Run

_RANGE = re.compile(
    r"(?P<one>[a-z]*)(?P<first>[1-9][0-9]*)\s*-\s*(?P<other>[a-z]*)(?P<last>[1-9][0-9]*)", re.IGNORECASE
)
_KINDS = {"", "run"}


def named_runs(client: Client, names: Sequence[str], where: str | None = None, *, in_bin: bool = False) -> list[str]:
    """References to each run that is meant, once; the server says which of plain names are not there."""
    parts = [part.strip() for name in names for part in name.split(",") if part.strip()]
    if parts and where:
        raise InvalidValue("runs are named, and there is a --where too", hint="use one of both")
    if where is not None:
        found = [_reference(run) for run in client.runs.iterate(where=where, columns=["name"], in_bin=in_bin)]
        if not found:
            raise UnknownName(f"there is no run for which {where} holds", hint="`aboard runs list` shows what there is")
        return found
    if not parts:
        raise InvalidValue("no run is named", hint="write run343, run310,run341, run10-run20, ws1/base* or --where")
    return list(dict.fromkeys(reference for part in parts for reference in _meant(client, part, in_bin=in_bin)))


def _meant(client: Client, part: str, *, in_bin: bool) -> Iterator[str]:
    part = part.replace("\\", "/")
    found = _RANGE.fullmatch(part)
    if found and {found["one"].lower(), found["other"].lower()} <= _KINDS:  # `a1-b2` is a name
        yield from _between(client, found, in_bin=in_bin)
    elif any(mark in part for mark in "*?"):
        yield from _like(client, part, in_bin=in_bin)
    else:
        yield _in_bin(client, part) if in_bin else part


def _in_bin(client: Client, part: str) -> str:
    """A name of a run in the bin as its number; the server finds runs there by numbers and uids only."""
    workspace, slash, name = part.rpartition("/")
    where = f"name == {json.dumps(name)}"
    found = client.runs.list(workspaces=workspace if slash else None, where=where, columns=["name"], in_bin=True).items
    if len(found) > 1:
        numbers = ", ".join(map(_reference, found))
        raise Conflict(f"{len(found)} runs in the bin are called {part!r}", hint=f"name one by its number: {numbers}")
    return _reference(found[0]) if found else part


def _between(client: Client, found: re.Match[str], *, in_bin: bool) -> Iterator[str]:
    first, last = int(found["first"]), int(found["last"])
    if first > last:
        raise InvalidValue(f"{found[0]!r} ends before it begins", hint=f"write run{last}-run{first}")
    where = f"number >= {first} and number <= {last}"
    references = [_reference(run) for run in client.runs.iterate(where=where, columns=["name"], in_bin=in_bin)]
    if not references:
        raise UnknownName(
            f"there is no run from run{first} to run{last}", hint="`aboard runs list` shows what there is"
        )
    yield from reversed(references)


def _like(client: Client, pattern: str, *, in_bin: bool) -> Iterator[str]:
    workspace, slash, name = pattern.rpartition("/")
    workspaces = workspace if slash else None
    runs = client.runs.iterate(workspaces=workspaces, columns=["name"], in_bin=in_bin)
    wanted = name.casefold()
    references = [_reference(run) for run in runs if fnmatch.fnmatchcase(run.name.casefold(), wanted)]
    if not references:
        raise UnknownName(f"there is no run like {pattern!r}", hint="`aboard runs list` shows what there is")
    yield from references


def _reference(run: Run) -> str:
    return run_name(run.number) if run.number else run.uid
