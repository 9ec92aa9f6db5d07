# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/charts` and `/api/v1/tags`: what the page of a comparison begins with, and the tags that runs share."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import Query, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator

from aboard.api.page import Page
from aboard.api.series import COLUMNS_TYPE, SharedTags
from aboard.api.wire import to_wire
from aboard.model.query.sorting import NEWEST_FIRST, parse_sort
from aboard.server.actors import Asking
from aboard.server.answering import Operations
from aboard.server.parameters import Limit, said
from aboard.server.runs_asked import Which
from aboard.server.series_answers import as_columns, response_of
from aboard.server.series_routes import MEANS
from aboard.services.runs.open_runs import readable_runs, selected_from
from aboard.services.runs.series import FirstAsked, first_charts
from aboard.services.runs.tags import shared_tags
from aboard.services.services import Control

_MOST_CHARTS = 100
_Runs = Annotated[list[str], Query(alias="run", description="Runs, as `run343`, `343`, a uid or `workspace/name`.")]
_Hidden = Annotated[
    list[int], Query(default_factory=list, description="Numbers of runs that are listed but not plotted.")
]
_Pinned = Annotated[
    list[str],
    Query(alias="tag", default_factory=list, description="Tags whose charts come before all others."),
    AfterValidator(said),
]


class ChartRoutes:
    """Answers what the charts of a comparison need, in few questions."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[APIRoute]:
        operations = Operations("charts")
        operations.add("GET", "tags", self.tags, content={"application/json": SharedTags})
        operations.add("GET", "charts", self.charts, content={COLUMNS_TYPE: bytes})
        return operations.routes

    def tags(self, runs: _Runs, access: Asking) -> Response:
        """The tags that some runs have together, in the order of their charts.

        While `read` is below `wanted`, runs are still being read: ask again.
        """
        named = self._control.seen_by(access).references.selected(runs)
        found = shared_tags(self._control.open_runs, readable_runs(named, self._control.place_of))
        return Response(orjson.dumps(found), media_type="application/json")

    def charts(
        self,
        asked: Which,
        hidden: _Hidden,
        pinned: _Pinned,
        access: Asking,
        sort: Annotated[str | None, Query(description="As for `GET runs`.")] = None,
        limit: Limit = 10,
        charts: Annotated[int, Query(ge=0, le=_MOST_CHARTS, description="How many charts are seen at first.")] = 12,
        points: Annotated[int, Query(ge=1, le=10_000, description="At most so many of each curve.")] = 1000,
        means: Annotated[bool, Query(description=MEANS)] = False,
    ) -> Response:
        """A page of runs, the tags that they share, and the curves of the first charts.

        These are binary columns (docs/series.md); runs and tags stand in their head.
        """
        seen = self._control.seen_by(access)
        page = seen.catalog.runs.list(
            workspaces=asked.workspaces,
            where=asked.filter(self._control, access),
            sort=parse_sort(sort) if sort else NEWEST_FIRST,
            limit=limit,
            in_bin=asked.in_bin,
        )
        plotted = [selected_from(run) for run in page.items if run.number not in hidden]
        runs, pool = readable_runs(plotted, self._control.place_of), self._control.open_runs
        tags = shared_tags(pool, runs)
        wanted = FirstAsked(charts=charts, points=points, means=means, pinned=pinned)
        first = first_charts(pool, runs, tags, wanted)
        head = {"runs": to_wire(Page(tuple(page.items), page.next)), "tags": tags, "charts": first.tags}
        return response_of(as_columns(first.curves, head), COLUMNS_TYPE)
