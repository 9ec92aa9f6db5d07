# SPDX-License-Identifier: Apache-2.0
"""Selections: which runs a person means, as a value that can be kept, compared and asked again.

`aboard.model.selection_words` makes one of what was typed. `str()` of an entry is a word that means this entry.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

NUMBER_WORD = r"(?P<{0}>run|exp|job|)(?P<{1}>[1-9][0-9]{{0,17}})"
# Plain words that are numbers, ranges, folders or marked names already.
_NOT_A_NAME = re.compile(
    NUMBER_WORD.format("kind", "first")
    + rf"(\s*-\s*{NUMBER_WORD.format('other', 'last')})?"
    + r"|name:.*|~.*|-|\.|\.\.",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


class NumberKind(StrEnum):
    """What is numbered; the value stands before the number."""

    RUN = "run"
    EXPERIMENT = "exp"


@dataclass(frozen=True, slots=True)
class Numbers:
    """`run343`, `exp7`, `run10-run20`: numbers from `first` to `last`, both included."""

    kind: NumberKind
    first: int
    last: int
    workspace: str = ""
    typed: str = field(default="", compare=False)
    """The typed word without its workspace, for errors and for experiments named like a number."""

    def __str__(self) -> str:
        last = "" if self.is_one else f"-{self.kind}{self.last}"
        return _within(self.workspace, f"{self.kind}{self.first}{last}")

    @property
    def is_one(self) -> bool:
        return self.first == self.last


@dataclass(frozen=True, slots=True)
class Named:
    """`base`, `ws1/base`, `name:run343`: the name of a run or an experiment, or a uid.

    `name:` marks a name that means something else as a plain word.
    """

    name: str
    workspace: str = ""

    def __str__(self) -> str:
        return _within(self.workspace, f"name:{self.name}" if _NOT_A_NAME.fullmatch(self.name) else self.name)


@dataclass(frozen=True, slots=True)
class NamedLike:
    """`ws1/base*`, `ws*/base`: runs whose name, or `run` and number, fits; `*` is any characters and `?` one.

    The workspace may be a pattern too.
    """

    pattern: str
    workspace: str = ""

    def __str__(self) -> str:
        return _within(self.workspace, self.pattern)

    @property
    def has_workspaces(self) -> bool:
        """Whether it is about all workspaces whose name fits."""
        return is_wild(self.workspace)

    def as_like(self) -> str:
        """The pattern as `like` of filters writes it."""
        return like_text(self.pattern)


@dataclass(frozen=True, slots=True)
class Folder:
    """`/logs/mine`, `s3://bucket/path`: a store, a run in it, or a folder of event files that no catalog knows."""

    uri: str

    def __str__(self) -> str:
        return self.uri


Entry: TypeAlias = Numbers | Named | NamedLike | Folder


@dataclass(frozen=True, slots=True)
class Selection:
    """Entries, in the order in which they were typed and each once; of their runs those for which `where` holds.

    Without entries it is about all runs. `where` has the spelling of `aboard.model.query.text`.
    """

    entries: tuple[Entry, ...] = ()
    where: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The entries, as they would be typed."""
        return tuple(map(str, self.entries))

    @property
    def is_live(self) -> bool:
        """Whether runs that come later may join."""
        return not self.entries or any(map(_may_grow, self.entries))

    @property
    def key(self) -> str:
        """A word that is the same for selections which say the same, in whatever order."""
        said = [sorted(self.words), self.where]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def with_entries(self, entries: list[Entry]) -> Selection:
        """The same with other entries, each once."""
        return replace(self, entries=tuple(dict.fromkeys(entries)))


def is_wild(text: str) -> bool:
    """Whether a name is a pattern."""
    return "*" in text or "?" in text


def like_text(pattern: str) -> str:
    """A pattern with `*` and `?` as `like` of filters writes it."""
    return re.sub(r"[\\%_]", r"\\\g<0>", pattern).replace("*", "%").replace("?", "_")


def _may_grow(entry: Entry) -> bool:
    match entry:
        case Numbers(kind=NumberKind.RUN):
            return not entry.is_one
        case Named():
            return False  # until it is known whether it names an experiment
        case _:
            return True


def _within(workspace: str, text: str) -> str:
    return f"{workspace}/{text}" if workspace else text
