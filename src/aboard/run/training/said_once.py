# SPDX-License-Identifier: Apache-2.0
"""Things that a person is told once, however often they happen."""

from __future__ import annotations

import logging

_log = logging.getLogger("aboard.run")


class SaidOnce:
    """Warnings by subject."""

    def __init__(self) -> None:
        self._said: set[tuple[object, ...]] = set()

    def warn(self, subject: tuple[object, ...], text: str) -> None:
        """Say `text` unless something was said about this subject."""
        if subject not in self._said:
            self._said.add(subject)
            _log.warning("%s (said once)", text)
