# SPDX-License-Identifier: Apache-2.0
"""Points of runs, asked from a server: as columns of numpy, which is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from aboard.api.runs import RunProblem
from aboard.api.series import COLUMNS_TYPE, Columns, TagInfo, read_columns
from aboard.api.wire import Page, from_wire, on_all_pages
from aboard.client.transport import Transport, quote_path_part
from aboard.errors import AboardError, ServerUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Names = str | Sequence[str]
_PAGE = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class CurveColumns:
    """One tag of one logdir of one run, its points as columns that belong together."""

    run: int
    """The number of the run."""
    uid: str
    name: str
    workspace: str
    logdir: str
    """Empty for the run itself."""
    tag: str
    total: int
    """How many points there are in the window; more than are here where they were reduced."""
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    means: NDArray[np.float64] | None = None
    """Where they were asked for and the curve was reduced: of the finite values since the point before each."""
    counts: NDArray[np.float64] | None = None
    """And how many these are."""

    def __len__(self) -> int:
        return len(self.values)


class SeriesClient:
    """The points of a server's runs; `Client.series`."""

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self._transport = transport

    def get(
        self,
        runs: Names,
        tags: Names = (),
        *,
        prefixes: Names = (),
        pattern: str = "",
        logdirs: Names = (),
        from_step: int | None = None,
        to_step: int | None = None,
        since: datetime | float | None = None,
        until: datetime | float | None = None,
        points: int = 0,
        means: bool = False,
        superseded: bool = False,
    ) -> list[CurveColumns]:
        """Curves of one or more runs, all or those named; every point, or at most `points` that keep the shape.

        With `means`, the points of a curve that was reduced also tell the mean of what they stand for.
        With `superseded`, the points that later attempts replaced: a curve for each stretch of ascending steps.
        Runs whose store does not answer are an error here; `get_partly` tells them beside the others.
        """
        found, problems = self.get_partly(
            runs,
            tags,
            prefixes=prefixes,
            pattern=pattern,
            logdirs=logdirs,
            from_step=from_step,
            to_step=to_step,
            since=since,
            until=until,
            points=points,
            means=means,
            superseded=superseded,
        )
        if problems:
            raise AboardError(
                f"{problems[0].run} cannot be read: {problems[0].message}", hint="get_partly has the rest"
            )
        return found

    def get_partly(
        self,
        runs: Names,
        tags: Names = (),
        *,
        prefixes: Names = (),
        pattern: str = "",
        logdirs: Names = (),
        from_step: int | None = None,
        to_step: int | None = None,
        since: datetime | float | None = None,
        until: datetime | float | None = None,
        points: int = 0,
        means: bool = False,
        superseded: bool = False,
    ) -> tuple[list[CurveColumns], list[RunProblem]]:
        """As `get`, and runs that could not be read."""
        query: dict[str, object] = {
            "run": _several(runs),
            "tag": _several(tags),
            "prefix": _several(prefixes),
            "pattern": pattern,
            "logdir": [one or "." for one in _several(logdirs)],
            "from_step": from_step,
            "to_step": to_step,
            "since": _seconds(since),
            "until": _seconds(until),
            "points": points,
            "means": means,
            "superseded": superseded,
            "format": "columns",
        }
        data = self._transport().bytes("series", query, accept=COLUMNS_TYPE)
        try:
            curves, problems = read_columns(data)
        except ValueError as error:
            raise ServerUnavailable(f"the answer of the server cannot be understood: {error}") from None
        return [_made(one) for one in curves], [from_wire(RunProblem, one) for one in problems]

    def tags(self, run: str, *, prefix: str = "", kind: str = "") -> list[TagInfo]:
        """The tags of a run: what each holds and how far it has come."""
        path, query = f"runs/{quote_path_part(run)}/tags", {"prefix": prefix, "kind": kind, "limit": _PAGE}
        transport = self._transport()
        return list(on_all_pages(lambda after: transport.get(Page[TagInfo], path, {**query, "after": after})))


def _made(columns: Columns) -> CurveColumns:
    import numpy as np

    about = columns.about
    return CurveColumns(
        run=int(about["run"]),
        uid=str(about["uid"]),
        name=str(about["name"]),
        workspace=str(about["workspace"]),
        logdir=str(about["logdir"]),
        tag=str(about["tag"]),
        total=int(about["total"]),
        steps=np.frombuffer(columns.steps, f"<{columns.steps_kind}").astype(np.int64, copy=False),
        wall_times=np.frombuffer(columns.wall_times, "<f8"),
        values=np.frombuffer(columns.values, "<f8"),
        means=None if columns.means is None else np.frombuffer(columns.means, "<f8"),
        counts=None if columns.counts is None else np.frombuffer(columns.counts, "<f8"),
    )


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _seconds(moment: datetime | float | None) -> float | None:
    return moment.timestamp() if isinstance(moment, datetime) else moment
