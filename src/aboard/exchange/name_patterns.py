# SPDX-License-Identifier: Apache-2.0
"""Names chosen by patterns: exact ones, ones with wildcards, and regular expressions between slashes."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Sequence

from aboard.errors import InvalidValue
from aboard.reader.nearest_names import nearest_hint


class NamePatterns:
    """Patterns of which one has to fit; without any, every name does. `*` and `?` stand for slashes too."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._tests = {pattern: _test(pattern) for pattern in patterns}

    def fits(self, name: str) -> bool:
        """Whether the name is wanted."""
        return not self._tests or any(test(name) for test in self._tests.values())

    def refuse_idle(self, names: Collection[str], kind: str) -> None:
        """Raise when a pattern fits none of the names: more likely a mistake than a wish for less."""
        for pattern, test in self._tests.items():
            if not any(map(test, names)):
                raise InvalidValue(f"no {kind} is called {pattern!r}", hint=nearest_hint(pattern, names, f"{kind}s"))


def _test(pattern: str) -> Callable[[str], object]:
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            return re.compile(pattern[1:-1]).search
        except re.error as error:
            raise InvalidValue(f"{pattern!r} is no regular expression: {error}") from error
    wildcards = re.compile(fnmatch.translate(pattern)).match
    return lambda name: name == pattern or wildcards(name)
