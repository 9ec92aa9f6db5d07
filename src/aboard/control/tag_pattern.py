# SPDX-License-Identifier: Apache-2.0
"""Regular expressions that others write, searched for in tags in a time that grows with the length of a tag alone."""

from __future__ import annotations

from typing import Any

import re2  # pyright: ignore[reportMissingTypeStubs]

from aboard.errors import InvalidValue

_LONGEST = 500
_re2: Any = re2


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
            raise InvalidValue(f"{text!r} is not a regular expression: {shown}", hint="see RE2's syntax") from None

    def is_in(self, tag: str) -> bool:
        """Whether it is found somewhere in a tag."""
        try:
            return self._compiled.search(tag) is not None
        except UnicodeEncodeError:
            return False
