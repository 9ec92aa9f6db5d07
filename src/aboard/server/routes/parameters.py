# SPDX-License-Identifier: Apache-2.0
"""Parameters that several routes share, and the run filter that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from aboard.catalog.paging import LONGEST_PAGE
from aboard.model.people import Access
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import And, ColumnField, ColumnKind, FieldComparison, Operator
from aboard.model.query.tree import Query as Filter
from aboard.server.routes.binding import Grouped, Path, Query

if TYPE_CHECKING:
    from aboard.services.services import Services

_DAY_MINUTES = 24 * 60


def without_empty(texts: Sequence[str]) -> list[str]:
    """Drop empty texts."""
    return [text for text in texts if text]


# A slash in a name is escaped twice, because paths are taken apart after the first time.
RunName = Annotated[
    str,
    Path(description="`run343`, `343`, a uid, a name, `workspace/name` with the slash as `%252F`, or `name:run343`."),
    unquote,
]
ExperimentName = Annotated[
    str,
    Path(description="`exp7`, `7`, a name, `workspace/name` with the slash as `%252F`, or `name:exp7`."),
    unquote,
]
WorkspaceName = Annotated[str, Path(description="The name of a workspace."), unquote]
Identifier = Annotated[str, Path(description="The identifier that an earlier answer gave."), unquote]

Workspaces = Annotated[
    list[str],
    Query(alias="workspace", default_factory=list, description="Only what is in these; all without it."),
    without_empty,
]
Limit = Annotated[int, Query(ge=1, le=LONGEST_PAGE, description="How many entries a page has at most.")]
After = Annotated[str | None, Query(description="`next` of the page before.")]
InBin = Annotated[bool, Query(alias="bin", description="What is in the bin, instead of what is not.")]
Exact = Annotated[
    bool, Query(description="`job7` is a number only, and not the name of an experiment when there is no number 7.")
]
Zone = Annotated[
    int,
    Query(
        gt=-_DAY_MINUTES, lt=_DAY_MINUTES, description="Minutes east of Greenwich, for times in `where` without a zone."
    ),
]
Where = Annotated[str | None, Query(description='A filter, as `hparams.lr < 0.01 and status == "running"`.')]


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The runs that a request selects."""

    workspaces: Sequence[str] | None
    experiment: str | None
    where: str | None
    zone: int
    in_bin: bool

    def filter(self, control: Services, access: Access) -> Filter | None:
        """What the runs must be like, beside being in the workspaces; None when all are meant."""
        where: Filter | None = None
        seen = control.seen_by(access)
        if self.where:
            where = parse_query(self.where, zone=timezone(timedelta(minutes=self.zone)))
            seen.catalog.fields.check(where, self.where, self.workspaces)
        if self.experiment:
            number = seen.references.experiment(self.experiment, exact=False).number
            inside = FieldComparison(ColumnField("experiment_number", ColumnKind.NUMBER), Operator.EQUAL, number)
            where = inside if where is None else And((inside, where))
        return where


def _run_filter(
    workspaces: Workspaces,
    experiment: Annotated[str | None, Query(description="`exp7`, `7`, or a name.")] = None,
    where: Where = None,
    zone: Zone = 0,
    in_bin: InBin = False,
) -> RunFilter:
    return RunFilter(workspaces or None, experiment, where, zone, in_bin)


RunFilterParams = Annotated[RunFilter, Grouped(_run_filter)]
