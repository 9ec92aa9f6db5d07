# SPDX-License-Identifier: Apache-2.0
"""Which runs a request means: parameters that all lists of runs have, and the filter that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Annotated

from fastapi import Depends, Query

from aboard.model.access import Access
from aboard.model.query.parser import parse_query
from aboard.model.query.syntax import And, Column, ColumnKind, Comparison, Order
from aboard.model.query.syntax import Query as Filter
from aboard.server.parameters import InBin, Where, Workspaces, Zone
from aboard.services.services import Control


@dataclass(frozen=True, slots=True)
class RunsAsked:
    """Which runs are meant."""

    workspaces: Sequence[str] | None
    experiment: str | None
    where: str | None
    zone: int
    in_bin: bool

    def filter(self, control: Control, access: Access) -> Filter | None:
        """What the runs must be like, beside being in the workspaces; None when all are meant."""
        where: Filter | None = None
        seen = control.seen_by(access)
        if self.where:
            where = parse_query(self.where, zone=timezone(timedelta(minutes=self.zone)))
            seen.catalog.fields.check(where, self.where, self.workspaces)
        if self.experiment:
            number = seen.references.experiment(self.experiment, exact=False).number
            inside = Comparison(Column("experiment_number", ColumnKind.NUMBER), Order.EQUAL, number)
            where = inside if where is None else And((inside, where))
        return where


async def _asked(
    workspaces: Workspaces,
    experiment: Annotated[str | None, Query(description="`exp7`, `7`, or a name.")] = None,
    where: Where = None,
    zone: Zone = 0,
    in_bin: InBin = False,
) -> RunsAsked:
    return RunsAsked(workspaces or None, experiment, where, zone, in_bin)


Which = Annotated[RunsAsked, Depends(_asked)]
