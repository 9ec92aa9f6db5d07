# SPDX-License-Identifier: Apache-2.0
"""Applies the rules of retention that a server was given, soon after its start and then every hour.

Of several servers of one catalog the one that has the lease does so; one that gets it from another begins soon, because
nobody knows how far that one came. To apply a rule twice does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from aboard.api.runs import RetentionAsked, RetentionResult
from aboard.errors import AboardError
from aboard.model.query.parser import parse_query
from aboard.services.repeated_rounds import RepeatedRounds

ACTOR = "retention"  # who is told to have deleted a run
_FIRST_AFTER = 60.0  # what the stores have is known by then, for the most part
_EVERY = 3600.0
_LOOK_SECONDS = 2.0  # whether the lease has come here
_log = logging.getLogger("aboard.services")


class RegularRetention:
    """A thread that asks `retain` for each rule. Raises QueryError at once for a rule that cannot be understood."""

    def __init__(
        self,
        retain: Callable[[RetentionAsked], RetentionResult],
        rules: Sequence[RetentionAsked],
        *,
        is_ours: Callable[[], bool] = lambda: True,
        first_after: float = _FIRST_AFTER,
        every: float = _EVERY,
        chores: Sequence[Callable[[], None]] = (),
    ) -> None:
        """`chores` are done after the rules, also where there are none."""
        for rule in rules:
            if rule.where:
                parse_query(rule.where, words=False)
        self._retain, self._is_ours = retain, is_ours
        self._chores = tuple(chores)
        self._rules = [replace(rule, dry_run=False) for rule in rules]
        self._every = every
        self._rounds = RepeatedRounds(
            "aboard-retention",
            self._round,
            looks_after="rules of retention",
            rest_after_failure=every,
            first_after=first_after,
        )
        if rules or chores:
            self._rounds.start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._rounds.stop()

    def _round(self) -> float:
        rest = self._every if self._is_ours() else min(self._every, _LOOK_SECONDS)
        for rule in self._rules:
            if not self._rounds.is_stopped and self._is_ours():
                self._apply(rule)
        for chore in self._chores:
            if not self._rounds.is_stopped and self._is_ours():
                chore()
        return rest

    def _apply(self, rule: RetentionAsked) -> None:
        try:
            result = self._retain(rule)
        except AboardError as error:
            _log.warning("A rule of retention failed, and is tried again later: %s", error)
            return
        except Exception:
            _log.exception("A rule of retention failed for a reason that is a mistake in aboard; it is tried again.")
            return
        if result.items:
            how = "deleted for good" if rule.files else "put into the bin"
            _log.info("Retention: %d runs with %d bytes were %s.", len(result.items), result.bytes, how)
        for problem in result.problems:
            _log.warning("Retention: %s", problem)
