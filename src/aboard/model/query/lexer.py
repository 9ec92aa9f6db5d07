# SPDX-License-Identifier: Apache-2.0
"""Tokens of a filter, each with its place in the text, and the literal values that they form."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto

from aboard.errors import QueryError
from aboard.model.query.tree import TextSpan, TimeValue, Value


class TokenKind(Enum):
    NAME = auto()  # a dotted name, a keyword, or true, none, now …
    TEXT = auto()
    NUMBER = auto()
    SIGN = auto()
    PLAIN = auto()  # what can only be part of a run's name: cifar-adamw, 2026-11-01
    END = auto()


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A token. A name has its parts, and which of them were quoted; a number may have a unit."""

    kind: TokenKind
    text: str  # as written; of a text what it says
    place: TextSpan
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


def tokenize(text: str) -> list[QueryToken]:
    """The words of `text`; the last one is its end."""
    words: list[QueryToken] = []
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        word = _word(text, at)
        words.append(word)
        at = word.place.end
    words.append(QueryToken(TokenKind.END, "", TextSpan(len(text), len(text))))
    return words


def _word(text: str, at: int) -> QueryToken:
    if (chunk := _plain(text, at)) is not None:
        return QueryToken(TokenKind.PLAIN, chunk, TextSpan(at, at + len(chunk)), (chunk,), (False,))
    if name := _NAME.match(text, at):
        return _dotted(text, name)
    if text[at] in "\"'":
        content, end = _quoted(text, at)
        return QueryToken(TokenKind.TEXT, content, TextSpan(at, end))
    if number := _NUMBER.match(text, at):
        unit = _UNIT.match(text, number.end())
        end = unit.end() if unit else number.end()
        return QueryToken(TokenKind.NUMBER, number.group(), TextSpan(at, end), unit=unit.group() if unit else "")
    if sign := _SIGN.match(text, at):
        return QueryToken(TokenKind.SIGN, sign.group(), TextSpan(at, sign.end()))
    hint = _INSTEAD.get(text[at], 'names with other characters stand in quotes: hparams."a b".c')
    raise QueryError(f"{text[at]!r} cannot stand here", text, at, at + 1, hint=hint)


def _plain(text: str, at: int) -> str | None:
    """The word that begins here, where it is neither a name nor a value of the language."""
    is_begin = at == 0 or text[at - 1].isspace() or text[at - 1] in "()"
    chunk = _CHUNK.match(text, at) if is_begin else None
    if chunk is None or _DOTTED.fullmatch(chunk.group()) or _VALUE.fullmatch(chunk.group()):
        return None
    return chunk.group()


def _dotted(text: str, first: re.Match[str]) -> QueryToken:
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
    place = TextSpan(first.start(), at)
    return QueryToken(TokenKind.NAME, text[place.start : place.end], place, tuple(parts), tuple(quoted))


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


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_CONSTANTS: dict[str, Value | None] = {
    "true": True,
    "false": False,
    "none": None,
    "null": None,
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "now": TimeValue(),
}
_LONGEST_NUMBER = 100


@dataclass(frozen=True, slots=True)
class Literal:
    """A value and its place; `unit` tells whether it is a span of time (s) or a size (B)."""

    value: Value | None
    place: TextSpan
    unit: str = ""

    @property
    def is_none(self) -> bool:
        return self.value is None

    @property
    def is_nan(self) -> bool:
        return isinstance(self.value, float) and math.isnan(self.value)


class LiteralReader:
    """Reads values out of the words of one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def begins_at(self, words: Sequence[QueryToken], at: int) -> bool:
        """Whether a value begins with this word."""
        word = words[at]
        return (
            word.kind in (TokenKind.TEXT, TokenKind.NUMBER)
            or (word.kind is TokenKind.NAME and word.text.lower() in _CONSTANTS)
            or (word.kind is TokenKind.SIGN and word.text in "+-")
        )

    def read(self, words: Sequence[QueryToken], at: int) -> tuple[Literal, int]:
        """The value that begins there, and the index of the word after it."""
        word = words[at]
        if word.kind is TokenKind.TEXT:
            return Literal(word.text, word.place), at + 1
        if word.kind is TokenKind.NAME and isinstance(_CONSTANTS[word.text.lower()], TimeValue):
            return self._moment(words, at)
        return self._signed(words, at)

    def _signed(self, words: Sequence[QueryToken], at: int) -> tuple[Literal, int]:
        sign, start = 1, words[at].place.start
        if words[at].kind is TokenKind.SIGN:
            sign, at = (-1 if words[at].text == "-" else 1), at + 1
        word = words[at]
        place = TextSpan(start, word.place.end)
        if word.kind is TokenKind.NUMBER:
            number, unit = self._number(word)
            return Literal(sign * number, place, unit), at + 1
        if word.kind is TokenKind.NAME and word.text.lower() in _CONSTANTS:
            value = _CONSTANTS[word.text.lower()]
            if start == word.place.start:
                return Literal(value, place), at + 1
            if isinstance(value, float):
                return Literal(sign * value, place), at + 1
        raise QueryError("after a sign a number is missing", self._text, start, word.place.end)

    def _number(self, word: QueryToken) -> tuple[float | int, str]:
        """The number, and `s` for a span of time or `B` for a size when it has such a unit."""
        start, end = word.place.start, word.place.end
        digits = word.text.replace("_", "")
        if len(digits) > _LONGEST_NUMBER:
            raise QueryError(f"a number has at most {_LONGEST_NUMBER} digits", self._text, start, end)
        number = int(digits) if digits.isdecimal() else float(digits)
        unit = word.unit.lower()
        if not unit:
            return number, ""
        if unit in _SECONDS:
            return number * _SECONDS[unit], "s"
        if unit in _BYTES:
            return number * _BYTES[unit], "B"
        hint = "units are s m h d w for spans of time and KB MB GB TB KiB MiB GiB TiB for sizes"
        raise QueryError(f"{word.unit!r} is not a unit", self._text, end - len(unit), end, hint=hint)

    def _moment(self, words: Sequence[QueryToken], at: int) -> tuple[Literal, int]:
        start, end, offset = words[at].place.start, words[at].place.end, timedelta()
        if words[at + 1].kind is TokenKind.SIGN and words[at + 1].text in "+-":
            span, after = self._signed(words, at + 1)
            if span.unit != "s" or isinstance(span.value, (str, TimeValue)) or span.value is None:
                place = span.place
                raise QueryError("a span of time is missing", self._text, place.start, place.end, hint="as in now - 7d")
            offset, end, at = self._span(span.value, span.place), span.place.end, after - 1
        return Literal(TimeValue(offset=offset), TextSpan(start, end)), at + 1

    def _span(self, seconds: float, place: TextSpan) -> timedelta:
        if not abs(seconds) < 1000 * 366 * 86400:
            raise QueryError("a span of time is at most 1000 years", self._text, place.start, place.end)
        return timedelta(seconds=seconds)
