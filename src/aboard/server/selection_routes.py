# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/selections/resolve`: what a person typed, and which runs it means."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Annotated

from fastapi.routing import APIRoute

from aboard.api.selections import Selected, SelectionAsked
from aboard.errors import InvalidValue
from aboard.model.selection_words import parse_selection
from aboard.server.actors import Asking
from aboard.server.answering import Operations, sent
from aboard.services.services import Control

_DAY_MINUTES = 24 * 60


class SelectionRoutes:
    """Answers what selections mean. `is_fresh`: stores are looked at before, for one person only."""

    def __init__(self, control: Control, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[APIRoute]:
        operations = Operations("selections")
        operations.add("POST", "selections/resolve", self.resolve, is_change=False)
        return operations.routes

    def resolve(self, asked: Annotated[SelectionAsked, sent(SelectionAsked)], access: Asking) -> Selected:
        """The runs that a selection means now; see docs/selections.md."""
        if not -_DAY_MINUTES < asked.zone < _DAY_MINUTES:
            raise InvalidValue(f"zone={asked.zone} is no zone", hint="write minutes east of Greenwich, as 120")
        selection = parse_selection(
            asked.words,
            asked.where,
            workspace=asked.workspace,
            numbers=asked.numbers,
            zone=timezone(timedelta(minutes=asked.zone)),
        )
        if self._is_fresh:
            self._control.look_now()
        selections = self._control.seen_by(access).selections
        settled = selections.settle(selection, in_bin=asked.in_bin, exact=asked.exact)
        resolved = selections.resolve(settled, in_bin=asked.in_bin)
        return Selected(
            words=settled.words,
            where=settled.where,
            key=settled.key,
            live=settled.is_live,
            runs=resolved.runs,
            folders=resolved.folders,
            empty=resolved.empty,
        )
