# SPDX-License-Identifier: Apache-2.0
"""Fields that a filter, a sort order or a list of columns can name, and sort orders such as `-created`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.errors import QueryError
from aboard.foundation.text import closest_names
from aboard.model.query.lexer import QueryToken, TokenKind, tokenize
from aboard.model.query.tree import ColumnField, ColumnKind, Field, HparamField, MetricField, MetricPart, TagField

COLUMNS: dict[str, ColumnKind] = {
    **dict.fromkeys(("name", "uid", "workspace", "experiment", "user", "host", "store", "reason"), ColumnKind.TEXT),
    "note": ColumnKind.TEXT,
    "status": ColumnKind.STATUS,
    **dict.fromkeys(("created", "started", "ended", "heartbeat", "updated"), ColumnKind.TIME),
    **dict.fromkeys(("number", "experiment_number", "exit_code", "duration"), ColumnKind.NUMBER),
    **dict.fromkeys(("attempts", "files", "bytes"), ColumnKind.NUMBER),
}
# Words of XT, Determined, MLflow and wandb for the same things.
_ALIASES = {
    "run": "name",
    "run_num": "number",
    "trial": "number",
    "guid": "uid",
    "job": "experiment",
    "username": "user",
    "owner": "user",
    "box": "host",
    "node": "host",
    "state": "status",
    "last_time": "heartbeat",
    "notes": "note",
    "description": "note",
    "size": "bytes",
}
_HPARAMS = frozenset({"hparams", "hparam", "params", "param", "config"})
_METRICS = frozenset({"metrics", "metric", "summary"})
_TAGS = frozenset({"tags", "tag"})
_WRAPPERS = frozenset({"run", "attributes", "attribute", "attr"})  # run.hparams.lr, attributes.status


def names_tags(word: QueryToken) -> bool:
    """Whether a word means all tags of a run, as in `"x" in tags`."""
    return word.kind is TokenKind.NAME and len(word.parts) == 1 and word.parts[0].lower() in _TAGS


def is_field(word: QueryToken) -> bool:
    """Whether a name is that of a field, or begins like one, by itself."""
    first = 1 if len(word.parts) > 1 and word.parts[0].lower() in _WRAPPERS else 0
    root, has_more = word.parts[first].lower(), len(word.parts) > first + 1
    return (
        root in COLUMNS or root in ("hparams", "metrics", "tags") or (has_more and root in _HPARAMS | _METRICS | _TAGS)
    )


def field_of(word: QueryToken, text: str) -> Field:
    """The field that a dotted name means."""
    first = 1 if len(word.parts) > 1 and word.parts[0].lower() in _WRAPPERS else 0
    root, below = word.parts[first].lower(), word.parts[first + 1 :]
    if root in _HPARAMS and below:
        return HparamField(".".join(below), word.place)
    if root in _METRICS and below:
        return _metric(below, word.quoted[-1], word)
    if root in _TAGS and below:
        return TagField(".".join(below), word.place)
    name = _ALIASES.get(root, root)
    if name in COLUMNS and not below:
        return ColumnField(name, COLUMNS[name], word.place)
    raise _unknown(word, text, root, below)


def parse_field(text: str) -> Field:
    """The field that `text` names: `metrics.val_loss.min`, `created`."""
    words = tokenize(text)
    if len(words) != 2 or words[0].kind is not TokenKind.NAME:
        raise QueryError(f"{text!r} is not the name of a field", text, 0, len(text), hint=_ALL)
    return field_of(words[0], text)


def unknown_name(field: HparamField | MetricField, known: Sequence[str], text: str) -> QueryError:
    """The error for a hyperparameter or metric that no run has, with the nearest names of those that are `known`."""
    word = "hparams" if isinstance(field, HparamField) else "metrics"
    part = f".{field.part}" if isinstance(field, MetricField) and field.part is not MetricPart.LAST else ""
    near = in_stages(field.name, known) or closest_names(field.name, known, 3) or known[:5]
    named = ", ".join(f"{word}.{name}{part}" for name in near)
    hint = f"nearest: {named}" if near else f"no run has any {word} yet"
    return QueryError(f"no run has {word}.{field.name}", text, field.place.start, field.place.end, hint=hint)


def in_stages(name: str, known: Sequence[str]) -> list[str]:
    """The metrics of this name that were logged in a stage: `train/loss` for `loss`."""
    return [one for one in known if one.endswith(f"/{name}")]


def _metric(below: tuple[str, ...], last_is_quoted: bool, word: QueryToken) -> MetricField:
    if len(below) > 1 and not last_is_quoted and below[-1] in set(MetricPart):
        return MetricField(".".join(below[:-1]), MetricPart(below[-1]), word.place)
    return MetricField(".".join(below), MetricPart.LAST, word.place)


_ALL = f"fields are {', '.join(COLUMNS)}, hparams.NAME, tags.NAME and metrics.NAME.PART with {', '.join(MetricPart)}"


def _unknown(word: QueryToken, text: str, root: str, below: tuple[str, ...]) -> QueryError:
    start, end = word.place.start, word.place.end
    if root in _HPARAMS | _METRICS | _TAGS:
        hint = f"name one, as in {root}.NAME" + ('; "x" in tags asks whether there is a tag x' * (root in _TAGS))
        return QueryError(f"{word.text!r} alone is not a field", text, start, end, hint=hint)
    if below and _ALIASES.get(root, root) in COLUMNS:
        return QueryError(f"{root!r} has nothing below it", text, start, end, hint=f"write {root}")
    known = [*COLUMNS, *_ALIASES, "hparams", "metrics", "tags"]
    near = closest_names(root, known)
    dotted = ".".join((near[0] if near else root, *below))
    guess = f"did you mean {dotted}? " if near else f"is it hparams.{dotted} or metrics.{dotted}? "
    return QueryError(f"there is no field {word.text!r}", text, start, end, hint=guess + _ALL)


@dataclass(frozen=True, slots=True)
class Sort:
    """A field and a direction. Runs without a value, or with NaN, come last either way; numbers come before texts."""

    field: Field
    descending: bool = False


NEWEST_FIRST = Sort(ColumnField("number", ColumnKind.NUMBER), descending=True)


def parse_sort(text: str) -> Sort:
    """The order that `text` names: a field with a minus before it, or with `asc` or `desc` after it."""
    name, descending = text.strip(), False
    if name.startswith("-"):
        name, descending = name[1:], True
    elif len(words := name.rsplit(None, 1)) == 2 and words[1].lower() in ("asc", "desc"):
        name, descending = words[0], words[1].lower() == "desc"
    field = parse_field(name)
    if isinstance(field, TagField) or field == ColumnField("note", ColumnKind.TEXT):
        return _refuse(text)
    return Sort(field, descending)


def _refuse(text: str) -> Sort:
    hint = "sort by a column, hparams.NAME or metrics.NAME.last"
    raise QueryError("runs are not sorted by tags or notes", text, 0, len(text), hint=hint)


@dataclass(frozen=True, slots=True)
class CountedValue:
    """A value, and how many of the newest runs have it."""

    value: bool | int | float | str
    runs: int
