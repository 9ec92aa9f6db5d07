# SPDX-License-Identifier: Apache-2.0
"""Patterns of `like`: `%` stands for any characters, `_` for one, and a backslash before them for themselves."""

from __future__ import annotations

import string

from aboard.errors import InvalidValue

_LONGEST = 400
_MOST_GAPS = 8  # engines that match patterns go back and forth between gaps
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def ascii_lower(text: str) -> str:
    """`text` with A to Z made small. Other letters are left alone, because databases disagree about them."""
    return text.translate(_SMALL)


class LikePattern:
    """A pattern that was checked. Its pieces are characters, None for one of any kind, and ... for any number."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self._pieces: list[str | object | None] = []
        if len(pattern) > _LONGEST:
            raise InvalidValue(f"a pattern has at most {_LONGEST} characters", hint="use contains or startswith")
        characters = iter(pattern)
        for character in characters:
            if character == "\\":
                following = next(characters, None)
                if following is None:
                    raise InvalidValue("a pattern cannot end with a backslash", hint="write two for one")
                self._pieces.append(following)
            else:
                self._pieces.append({"%": ..., "_": None}.get(character, character))
        if self._pieces.count(...) > _MOST_GAPS:
            raise InvalidValue(f"a pattern has at most {_MOST_GAPS} %", hint="use several conditions")

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` fits, in time proportional to its length times the pattern's."""
        at, piece, gap, resume = 0, 0, -1, 0
        while at < len(text):
            current = self._pieces[piece] if piece < len(self._pieces) else ""
            if current is ...:
                gap, resume = piece, at
                piece += 1
            elif current is None or current == text[at]:
                at, piece = at + 1, piece + 1
            elif gap >= 0:
                piece, resume = gap + 1, resume + 1
                at = resume
            else:
                return False
        return all(rest is ... for rest in self._pieces[piece:])

    def as_glob(self) -> str:
        """The same pattern for GLOB of SQLite, whose own LIKE takes capitals for small letters."""
        return "".join(map(_glob_piece, self._pieces))

    def as_like(self) -> str:
        """The same pattern for LIKE of PostgreSQL."""
        return "".join(map(_like_piece, self._pieces))


def _glob_piece(piece: object) -> str:
    if piece is ...:
        return "*"
    return "?" if piece is None else (f"[{piece}]" if str(piece) in "*?[" else str(piece))


def _like_piece(piece: object) -> str:
    if piece is ...:
        return "%"
    return "_" if piece is None else (f"\\{piece}" if str(piece) in "%_\\" else str(piece))
