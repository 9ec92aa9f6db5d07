# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/series`, `charts` and `annotations`: the curves of several runs at once, and the tags of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from aboard.api.series import COLUMNS_TYPE, Annotations, Curves, SharedTags, TagInfo
from aboard.api.wire import Page, to_wire
from aboard.errors import InvalidValue
from aboard.model.query.fields import NEWEST_FIRST, parse_sort
from aboard.server.http.json_encoding import encode_json
from aboard.server.routes.binding import Header, Query
from aboard.server.routes.operations import CurrentAccess, Operations
from aboard.server.routes.parameters import Limit, RunFilterParams, RunName, without_empty
from aboard.server.routes.series_encoding import ENCODERS, as_columns, response_of
from aboard.services.runs.open_runs import readable_runs, selected_from
from aboard.services.runs.series import CurveQuery, FirstChartsQuery, curve_windows, first_charts
from aboard.services.runs.tags import TagQuery, list_tags, shared_tags

if TYPE_CHECKING:
    from aboard.services.services import Services

_MOST_POINTS = 1_000_000
_MOST_TAGS = 10_000


class SeriesFormat(StrEnum):
    """How curves are sent."""

    JSON = "json"
    COLUMNS = "columns"
    CSV = "csv"


def _check_finite(times: Sequence[float]) -> Sequence[float]:
    for time in times:
        if not math.isfinite(time):
            raise InvalidValue(f"{time} is not a time", hint="give seconds since 1970")
    return times


_Runs = Annotated[list[str], Query(alias="run", description="Runs, as `run343`, `343`, a uid or `workspace/name`.")]
_Tags = Annotated[
    list[str],
    Query(alias="tag", default_factory=list, description="Tags by their whole name."),
    without_empty,
]
_Prefixes = Annotated[
    list[str],
    Query(alias="prefix", default_factory=list, description="Tags that begin so, besides those named."),
    without_empty,
]
_Pattern = Annotated[str, Query(description="Tags in which this expression of RE2 is found, besides those named.")]
_Logdirs = Annotated[
    list[str],
    Query(alias="logdir", default_factory=list, description="Logdirs, `.` for the run itself; all without it."),
]
_Step = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_ONCE = "Once for all runs, or once for each in their order."
_STEPS = f"The window, in steps; one point more is told on either side. {_ONCE}"
_TIMES = f"The window, in seconds since 1970. {_ONCE}"
_Points = Annotated[
    int,
    Query(
        ge=0,
        le=_MOST_POINTS,
        description="At most so many of each curve, reduced such that extremes, ends and gaps stay; 0 for all.",
    ),
]


MEANS = (
    "For each point of a curve that was reduced also the mean of the finite values since the point before it, "
    "and how many these are."
)


_SUPERSEDED = (
    "The points that later attempts replaced, instead of the newest ones. "
    "Each stretch of ascending steps is a curve of its own."
)


class SeriesRoutes:
    """Answers questions about points."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("series")
        content = {"application/json": Curves, COLUMNS_TYPE: bytes, "text/csv": bytes}
        operations.add("GET", "series", self.curves, content=content)
        operations.add("GET", "runs/{run}/tags", self.tags)
        return operations.routes

    def curves(
        self,
        runs: _Runs,
        tags: _Tags,
        prefixes: _Prefixes,
        logdirs: _Logdirs,
        access: CurrentAccess,
        from_steps: Annotated[list[_Step], Query(alias="from_step", default_factory=list, description=_STEPS)],
        to_steps: Annotated[list[_Step], Query(alias="to_step", default_factory=list, description=_STEPS)],
        since: Annotated[list[float], Query(default_factory=list, description=_TIMES), _check_finite],
        until: Annotated[list[float], Query(default_factory=list, description=_TIMES), _check_finite],
        pattern: _Pattern = "",
        points: _Points = 1000,
        means: Annotated[bool, Query(description=f"{MEANS} CSV has no place for them.")] = False,
        superseded: Annotated[bool, Query(description=_SUPERSEDED)] = False,
        format: Annotated[SeriesFormat | None, Query(description="Without it, `Accept` decides.")] = None,  # noqa: A002
        accept: Annotated[str, Header()] = "",
        if_none_match: Annotated[str, Header()] = "",
    ) -> Response:
        """Curves of several runs at once: all, or those that are named.

        With the `ETag` of an earlier answer in `If-None-Match`, 304 when there is nothing new.
        """
        asked = CurveQuery(
            tags=tags,
            prefixes=prefixes,
            pattern=pattern,
            logdirs=logdirs or None,
            windows=curve_windows(from_steps, to_steps, since, until),
            points=points,
            means=means,
            superseded=superseded,
        )
        found = self._control.curves(runs, asked, access)
        kind = format or _accepted_format(accept)
        headers = {"ETag": f'"{found.stamp}-{kind}"', "Cache-Control": "private, no-cache", "Vary": "Accept"}
        if if_none_match and if_none_match.removeprefix("W/") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        content_type, encode = ENCODERS[kind]
        return response_of(encode(found), content_type, headers)

    def tags(
        self,
        run: RunName,
        access: CurrentAccess,
        prefix: Annotated[str, Query(description="Only tags that begin so.")] = "",
        kind: Annotated[str, Query(description="Only scalar, image, audio, text, histogram, graph or tensor.")] = "",
        limit: Annotated[int, Query(ge=1, le=_MOST_TAGS)] = 1000,
        after: Annotated[str, Query(description="`next` of the page before.")] = "",
    ) -> Page[TagInfo]:
        """The tags of a run by logdir and name: what each holds, and how far it has come."""
        place = self._control.place_of(self._control.seen(run, access))
        return list_tags(self._control.open_runs, place, TagQuery(prefix=prefix, kind=kind, limit=limit, after=after))


def _accepted_format(accept: str) -> SeriesFormat:
    if COLUMNS_TYPE in accept:
        return SeriesFormat.COLUMNS
    return SeriesFormat.CSV if "text/csv" in accept else SeriesFormat.JSON


_MOST_CHARTS = 100
_ChartRuns = Annotated[
    list[str], Query(alias="run", description="Runs, as `run343`, `343`, a uid or `workspace/name`.")
]
_Hidden = Annotated[
    list[int], Query(default_factory=list, description="Numbers of runs that are listed but not plotted.")
]
_Pinned = Annotated[
    list[str],
    Query(alias="tag", default_factory=list, description="Tags whose charts come before all others."),
    without_empty,
]


class ChartRoutes:
    """Answers what the charts of a comparison need, in few questions."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("charts")
        operations.add("GET", "tags", self.tags, content={"application/json": SharedTags})
        operations.add("GET", "charts", self.charts, content={COLUMNS_TYPE: bytes})
        return operations.routes

    def tags(self, runs: _ChartRuns, access: CurrentAccess) -> Response:
        """The tags that some runs have together, in the order of their charts.

        While `read` is below `wanted`, runs are still being read: ask again.
        """
        named = self._control.seen_by(access).references.selected(runs)
        found = shared_tags(self._control.open_runs, readable_runs(named, self._control.place_of))
        return Response(encode_json(found), media_type="application/json")

    def charts(
        self,
        asked: RunFilterParams,
        hidden: _Hidden,
        pinned: _Pinned,
        access: CurrentAccess,
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
        wanted = FirstChartsQuery(charts=charts, points=points, means=means, pinned=pinned)
        first = first_charts(pool, runs, tags, wanted)
        head = {"runs": to_wire(Page(tuple(page.items), page.next)), "tags": tags, "charts": first.tags}
        return response_of(as_columns(first.curves, head), COLUMNS_TYPE)


_AnnotatedRuns = Annotated[
    list[str], Query(alias="run", default_factory=list, description="Runs, as `?run=run1&run=run2`.")
]


class AnnotationRoutes:
    """Answers questions about annotations."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("annotations")
        operations.add("GET", "annotations", self.list)
        return operations.routes

    def list(self, runs: _AnnotatedRuns, access: CurrentAccess) -> Annotations:
        """What `Run.log_event` noted in these runs; of very many, the newest."""
        return self._control.annotations(runs, access)
