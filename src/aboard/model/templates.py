# SPDX-License-Identifier: Apache-2.0
"""Names of runs on a board from a template such as `{workspace}_{run}_{logdir}_lr={hparams.lr}`, made distinct.

A field in braces is a column of the run, `{hparams.NAME}`, `{tags.NAME}` or `{metrics.NAME}`. A metric may be followed
by `.first`, `.last`, `.min` or `.max`; without them its last value is meant. `{{` and `}}` stand for braces. Where two
names would be the same, a part that tells them apart is appended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from aboard.errors import InvalidValue

Key = TypeVar("Key", bound=Hashable)


class NameRequest(NamedTuple):
    """A requested name, and what is appended when it is requested more than once."""

    name: str
    apart: str


class DistinctNames:
    """Gives out names. A name that two things wanted once is given to none of them alone, also when one has gone:
    so nothing is renamed back and forth.
    """

    def __init__(self) -> None:
        self._contested: set[str] = set()

    def give(self, wishes: Mapping[Key, NameRequest]) -> dict[Key, str]:
        """The name of each; the same for the same wishes, in whatever order they come."""
        wanted = Counter(wish.name for wish in wishes.values())
        contested = {name for name, count in wanted.items() if count > 1 or not name}
        self._contested = contested | (self._contested & wanted.keys())
        while True:
            names = {key: self._name(wish) for key, wish in wishes.items()}
            taken = Counter(names.values())
            # What was appended to one name may make it the wish of another.
            hit = {wish.name for key, wish in wishes.items() if taken[names[key]] > 1} - self._contested
            if not hit:
                return _numbered(names, taken)
            self._contested |= hit

    def _name(self, wish: NameRequest) -> str:
        if wish.name not in self._contested:
            return wish.name
        return f"{wish.name}_{wish.apart}" if wish.name else wish.apart


def _numbered(names: dict[Key, str], taken: Counter[str]) -> dict[Key, str]:
    """The last resort, for names that are the same although something else was appended to each."""
    if len(taken) == len(names):
        return names
    used = set(taken)
    result = dict(names)
    seen: set[str] = set()
    for key in sorted((key for key in names if taken[names[key]] > 1), key=repr):
        name, number = names[key], 1
        while name in seen or (number > 1 and name in used):
            number += 1
            name = f"{names[key]}_{number}"
        seen.add(name)
        result[key] = name
    return result


TemplateValue = str | int | float | bool | None

ABSENT = "none"
STATISTICS = ("first", "last", "min", "max")
_METRICS = "metrics"
_ALIASES = {"username": "user", "box": "host", "job": "experiment"}  # columns of XT
_DIGITS = 6  # of a number with a fraction: what tells runs apart, without the noise of single precision
_LARGEST_WHOLE = 1e15  # whole numbers beyond it are written with an exponent
_PIECES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")


@dataclass(frozen=True, slots=True)
class TemplateField:
    """A field in braces."""

    group: str
    """`hparams`, `metrics` or `tags`; empty for a column of the run."""
    key: str
    statistic: str = ""
    """Of a metric: one of STATISTICS."""


@dataclass(frozen=True, slots=True)
class KnownFields:
    """The fields that a template may have: columns by name, and groups in which any name is allowed."""

    columns: tuple[str, ...]
    groups: tuple[str, ...] = ("hparams", "metrics", "tags")

    def described(self) -> str:
        """The list for an error message."""
        groups = [f"{group}.NAME" for group in self.groups]
        if _METRICS in self.groups:
            groups.append(f"{_METRICS}.NAME.{'|'.join(STATISTICS)}")
        return ", ".join([*self.columns, *groups])


FOLDER_FIELDS = KnownFields(columns=("run", "logdir", "root", "workspace"), groups=("hparams", "metrics"))
"""Of runs in plain folders: `run` is TensorBoard's name, `logdir` its last part; `root` and `workspace` are the name of
the folder that was opened."""


STORE_FIELDS = KnownFields(
    columns=("run", "logdir", "root", "workspace", "experiment", "user", "uid", "status"),
    groups=("hparams", "metrics", "tags"),
)
"""Of runs in stores: what their `run.json` says; `run` is the name of the run, which several logdirs share."""


BOARD_FIELDS = KnownFields(
    columns=(
        *("workspace", "run", "logdir", "path", "number", "uid", "experiment", "status", "user", "host", "store"),
        *("created", "started", "ended", "duration", "exit_code", "attempts", "root"),
    ),
)
"""Of runs of a catalog: `run` is the name, `path` the whole path of the logdir in the run."""


class NameTemplate:
    """A template that was checked: every field in it is known."""

    def __init__(self, text: str, known: KnownFields) -> None:
        """Parse `text`; what is wrong with it is shown at its place."""
        self.text, self.known = text, known
        self._pieces = tuple(_parse(text, known))
        if not self._pieces:
            raise InvalidValue("the template is empty", hint=f"fields: {known.described()}")

    @property
    def fields(self) -> tuple[TemplateField, ...]:
        """The fields in the order in which they first stand in the template."""
        return tuple(dict.fromkeys(piece for piece in self._pieces if isinstance(piece, TemplateField)))

    def render(self, value_of: Callable[[TemplateField], TemplateValue]) -> str:
        """The name of the run whose values `value_of` knows; None for what it has not."""
        return "".join(
            short_form(value_of(piece)) if isinstance(piece, TemplateField) else piece for piece in self._pieces
        )

    def lacks(self, identity: Sequence[str]) -> tuple[str, ...]:
        """Those of the columns that identify a run which the template does not show; all when it shows every one.

        This is what is appended where two runs would have one name.
        """
        shown = {field.key for field in self.fields if not field.group}
        return tuple(column for column in identity if column not in shown) or tuple(identity)


def short_form(value: TemplateValue) -> str:
    """A value as it stands in a name: `.01`, `2500`, `1e-05`; `none` when there is none."""
    if value is None:
        return ABSENT
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))  # hyperparameters are floats in event files, whatever they were before
    text = f"{value:.{_DIGITS}g}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def _parse(text: str, known: KnownFields) -> Iterator[str | TemplateField]:
    for match in _PIECES.finditer(text):
        piece = match[0]
        if piece in ("{{", "}}"):
            yield piece[0]
        elif piece == "{":
            raise _wrong("a brace that is never closed", text, match.start(), "write {{ for a brace itself")
        elif piece == "}":
            raise _wrong("a closing brace without an opening one", text, match.start(), "write }} for a brace itself")
        elif match[1] is None:
            yield piece
        else:
            field = _field(match[1], known)
            if field is None:
                place = match.start() + 1
                raise _wrong(f"an unknown field {match[1]!r}", text, place, f"fields: {known.described()}")
            yield field


def _field(name: str, known: KnownFields) -> TemplateField | None:
    name = _ALIASES.get(name, name)
    if name in known.columns:
        return TemplateField("", name)
    group, _, key = name.partition(".")
    if not key or group not in known.groups:
        return None
    if group != _METRICS:
        return TemplateField(group, key)
    metric, _, statistic = key.rpartition(".")
    return (
        TemplateField(group, metric, statistic)
        if metric and statistic in STATISTICS
        else TemplateField(group, key, "last")
    )


def _wrong(what: str, text: str, place: int, hint: str) -> InvalidValue:
    # Tabs and line ends would move the caret away from its place.
    shown = "".join(character if character.isprintable() else " " for character in text)
    return InvalidValue(f"the template has {what}, at character {place + 1}:\n  {shown}\n  {' ' * place}^", hint=hint)
