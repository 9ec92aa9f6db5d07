# SPDX-License-Identifier: Apache-2.0
"""Requests and responses about selections of runs."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.model.selections import NumberKind, SelectedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRequest:
    """A selection as a person typed it."""

    words: tuple[str, ...] = ()
    where: str = ""
    zone: int = 0
    """Minutes east of Greenwich, for times in `where` that say no zone."""
    workspace: str = ""
    """Meant where a name or pattern has none."""
    numbers: NumberKind = NumberKind.RUN
    """What a number without a word before it counts."""
    in_bin: bool = False
    exact: bool = False
    """`job7` is a number only, and not the name of an experiment when there is no number 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionResult:
    """The runs that a selection means now; `words` and `where` express the same selection at any later time."""

    words: tuple[str, ...]
    where: str
    key: str
    """The same for everybody who selects the same."""
    live: bool
    """Whether runs that come later may join."""
    runs: tuple[SelectedRun, ...]
    folders: tuple[str, ...] = ()
    """Those of which the server knows no run."""
    empty: tuple[str, ...] = ()
    """Words that select nothing, or the filter if it leaves nothing."""
