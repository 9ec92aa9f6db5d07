# SPDX-License-Identifier: Apache-2.0
"""The words of a filter, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from aboard.errors import QueryError
from aboard.model.query.syntax import Place


class Kind(Enum):
    """The kinds of words."""

    NAME = auto()  # a dotted name, a keyword, or true, none, now …
    TEXT = auto()
    NUMBER = auto()
    SIGN = auto()
    PLAIN = auto()  # what can only be part of a run's name: cifar-adamw, 2026-11-01
    END = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """A word. A name has its parts, and which of them stood in quotes; a number may have a unit."""

    kind: Kind
    text: str  # as written; of a text what it says
    place: Place
    parts: tuple[str, ...] = ()
    quoted: tuple[bool, ...] = ()
    unit: str = ""


_SPACE = re.compile(r"\s+")
_NAME = re.compile(r"[^\W\d]\w*")
# Below the first dot a name may hold what tags of metrics often hold, without quotes: metrics.val/loss.last
_PART = re.compile(r"\w(?:[\w/:@%+-]*\w)?")
_NUMBER = re.compile(r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"[A-Za-z]+")
_SIGN = re.compile(r"==|!=|<=|>=|<>|=|<|>|\(|\)|\[|\]|,|-|\+")
# What stands between spaces and brackets, with no sign of the language in it but those that values have too.
_CHUNK = re.compile(r"[^\s()\[\],\"'`=<>!&|~{}]+(?=[\s()]|$)")
_VALUE = re.compile(rf"[+-]|(?:now)?[+-]?(?:{_NUMBER.pattern}\w*|inf(?:inity)?|nan)", re.IGNORECASE)
_DOTTED = re.compile(rf"{_NAME.pattern}(?:\.{_PART.pattern})*\.?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_INSTEAD = {
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`, or `!=` between a field and a value",
    "~": 'regular expressions are not part of filters; use like "run1%", contains, startswith or endswith',
    "{": "lists stand in square brackets",
}


def words_of(text: str) -> list[Word]:
    """The words of `text`; the last one is its end."""
    words: list[Word] = []
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        word = _word(text, at)
        words.append(word)
        at = word.place.end
    words.append(Word(Kind.END, "", Place(len(text), len(text))))
    return words


def _word(text: str, at: int) -> Word:
    if (chunk := _plain(text, at)) is not None:
        return Word(Kind.PLAIN, chunk, Place(at, at + len(chunk)), (chunk,), (False,))
    if name := _NAME.match(text, at):
        return _dotted(text, name)
    if text[at] in "\"'":
        content, end = _quoted(text, at)
        return Word(Kind.TEXT, content, Place(at, end))
    if number := _NUMBER.match(text, at):
        unit = _UNIT.match(text, number.end())
        end = unit.end() if unit else number.end()
        return Word(Kind.NUMBER, number.group(), Place(at, end), unit=unit.group() if unit else "")
    if sign := _SIGN.match(text, at):
        return Word(Kind.SIGN, sign.group(), Place(at, sign.end()))
    hint = _INSTEAD.get(text[at], 'names with other characters stand in quotes: hparams."a b".c')
    raise QueryError(f"{text[at]!r} cannot stand here", text, at, at + 1, hint=hint)


def _plain(text: str, at: int) -> str | None:
    """The word that begins here, where it is neither a name nor a value of the language."""
    is_begin = at == 0 or text[at - 1].isspace() or text[at - 1] in "()"
    chunk = _CHUNK.match(text, at) if is_begin else None
    if chunk is None or _DOTTED.fullmatch(chunk.group()) or _VALUE.fullmatch(chunk.group()):
        return None
    return chunk.group()


def _dotted(text: str, first: re.Match[str]) -> Word:
    parts, quoted, at = [first.group()], [False], first.end()
    while at < len(text) and text[at] == ".":
        if text[at + 1 : at + 2] in ("'", '"', "`"):
            part, at = _quoted(text, at + 1)
            quoted.append(True)
        elif found := _PART.match(text, at + 1):
            part, at = found.group(), found.end()
            quoted.append(False)
        else:
            raise QueryError("after the dot a name is missing", text, at, at + 1, hint="as in metrics.val_loss.min")
        parts.append(part)
    place = Place(first.start(), at)
    return Word(Kind.NAME, text[place.start : place.end], place, tuple(parts), tuple(quoted))


def _quoted(text: str, start: int) -> tuple[str, int]:
    """What stands in the quotes that begin at `start`, and where they end."""
    quote, content, at = text[start], list[str](), start + 1
    while at < len(text) and text[at] != quote:
        if text[at] == "\\" and at + 1 < len(text):
            content.append(_ESCAPES.get(text[at + 1]) or _kept(text[at + 1]))
            at += 1
        else:
            content.append(text[at])
        at += 1
    if at >= len(text):
        raise QueryError("these quotes are never closed", text, start, len(text), hint=f"add {quote} at the end")
    return "".join(content), at + 1


def _kept(character: str) -> str:
    """An escaped quote or backslash is itself; before anything else the backslash stays, as `like` needs it."""
    return character if character in "\"'`\\" else "\\" + character
