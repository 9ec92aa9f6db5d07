# SPDX-License-Identifier: Apache-2.0
"""Regular expressions from requests, matched by RE2 in time linear in the length of the text.

Python's `re` may take exponential time and holds the GIL meanwhile, so one request could stop the whole server.
"""

from __future__ import annotations

from typing import Any

import re2  # pyright: ignore[reportMissingTypeStubs]

from aboard.errors import InvalidValue

_LONGEST = 500
_re2: Any = re2


class InvalidPattern(InvalidValue):
    """A text that is not a regular expression in the syntax of RE2."""


class TagPattern:
    """One expression, in the syntax of RE2: without references back, and without looking around."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise InvalidValue(f"the pattern has {len(text)} characters", hint=f"at most {_LONGEST} are allowed")
        options = _re2.Options()
        options.log_errors = False
        try:
            self._compiled = _re2.compile(text, options=options)
        except (_re2.error, UnicodeEncodeError) as error:
            said = error.args[0] if error.args else ""
            shown = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
            raise InvalidPattern(f"{text!r} is not a regular expression: {shown}", hint="see RE2's syntax") from None

    def is_in(self, text: str) -> bool:
        """Whether it matches somewhere in a text."""
        return _finds(self._compiled.search, text)

    def is_at_start_of(self, text: str) -> bool:
        """Whether it matches from the first character of a text on."""
        return _finds(self._compiled.match, text)


def _finds(search: Any, text: str) -> bool:
    try:
        return search(text) is not None
    except UnicodeEncodeError:
        return False
