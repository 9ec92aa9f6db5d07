# SPDX-License-Identifier: Apache-2.0
"""Tells what fails for one run from what fails for all: then it is the store, and the others need not be asked."""

from __future__ import annotations

from aboard.errors import AboardError
from aboard.reader.remote.problems import Problems

_IN_A_ROW = 4  # of different runs


class StoreFailures:
    """Failures of one round over runs and folders, which several threads report."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._count = 0
        self._last: AboardError | None = None
        self.is_stopped = False
        """Whether nobody wants to know any more."""

    def begin(self) -> None:
        """A round begins."""
        self._count = 0

    def well(self, concerns: str) -> None:
        """Something could be read."""
        self._count = 0
        self._problems.solved(concerns)

    def failed(self, concerns: str, error: AboardError) -> None:
        """Something could not; it is told, unless it is the store that fails."""
        self._last = error
        self._count += 1
        if not self.gives_up:
            self._problems.note(concerns, error)

    @property
    def gives_up(self) -> bool:
        """Whether nothing else is to be asked in this round."""
        return self._count >= _IN_A_ROW or self.is_stopped

    def refuse_if_all_failed(self, asked: int, *, has_anything: bool) -> None:
        """Where everything fails, it is the store, and one error says so."""
        enough = _IN_A_ROW if has_anything else min(asked, _IN_A_ROW)
        if asked and self._last is not None and self._count >= enough and not self.is_stopped:
            raise self._last
