# SPDX-License-Identifier: Apache-2.0
"""Workspaces, which own experiments, runs and boards; experiments, which group runs; and saved views of a workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.errors import InvalidValue
from aboard.model.states import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace and how much is in it."""

    name: str
    created: datetime
    description: str = ""
    experiments: int = 0
    runs: int = 0
    bytes: int = 0
    deleted: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRecord:
    """An experiment and how many of its runs are in which state."""

    number: int
    workspace: str
    name: str
    created: datetime
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    runs: Mapping[RunState, int] = field(default_factory=dict[RunState, int])
    deleted: datetime | None = None


LONGEST_VIEW_NAME = 100
LONGEST_ADDRESS = 65_536
# Below the workspace, so that a view survives its renaming and never leads out of it.
_ADDRESS = re.compile(r"(runs|compare|boards)(/[A-Za-z0-9_.~%-]+)?(\?[^#\s]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """A place of the page with all that was chosen there. `address` is what follows `/w/<workspace>/`."""

    id: int
    workspace: str
    name: str
    address: str
    owner: str
    created: datetime
    changed: datetime


def check_view_name(name: str) -> str:
    """`name` itself, if a view may be called so."""
    if not 1 <= len(name) <= LONGEST_VIEW_NAME or name != name.strip() or not name.isprintable():
        hint = f"use 1 to {LONGEST_VIEW_NAME} characters on one line, with no space at either end"
        raise InvalidValue(f"{name[:200]!r} is not a name for a saved view", hint=hint)
    return name


def check_view_address(address: str) -> str:
    """`address` itself, if it is a place of a workspace."""
    if len(address) > LONGEST_ADDRESS:
        hint = f"at most {LONGEST_ADDRESS} characters are kept; a filter is shorter than a list of runs"
        raise InvalidValue(f"the address of this view has {len(address)} characters", hint=hint)
    if _ADDRESS.fullmatch(address) is None:
        hint = "give what follows /w/<workspace>/ in the browser, as runs?where=… or compare?runs=…"
        raise InvalidValue(f"{address[:200]!r} is not a place of a workspace", hint=hint)
    return address


@dataclass(frozen=True, slots=True)
class GroupUsage:
    """What the runs of one group take together."""

    group: str
    runs: int
    files: int
    bytes: int
