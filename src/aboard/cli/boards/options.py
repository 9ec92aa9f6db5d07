# SPDX-License-Identifier: Apache-2.0
"""What `aboard board list` can be asked for; apart, because every command loads it with the parser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from aboard.model.states import UnitState


class SortedBy(StrEnum):
    """What boards can be sorted by, in aboard's words and in Determined's."""

    ID = "id"
    NAME = "name"
    OWNER = "owner"
    USERNAME = "username"
    DESCRIPTION = "description"
    STATE = "state"
    EXIT_STATUS = "exit_status"
    EXIT_STATUS_OF_DETERMINED = "exitStatus"
    WORKSPACE = "workspace"
    WORKSPACE_NAME = "workspaceName"
    CREATED = "created"
    STARTED = "started"
    START_TIME = "startTime"
    LAST_USED = "last_used"
    ENDED = "ended"

    @property
    def column(self) -> str:
        """The name that the server knows."""
        return _COLUMNS.get(self, self.value)


_COLUMNS = {
    SortedBy.USERNAME: "owner",
    SortedBy.EXIT_STATUS_OF_DETERMINED: "exit_status",
    SortedBy.WORKSPACE_NAME: "workspace",
    SortedBy.START_TIME: "started",
}


class SortOrder(StrEnum):
    """Which end comes first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardListOptions:
    """What was asked for."""

    everybody: bool = False
    workspaces: Sequence[str] = ()
    states: Sequence[UnitState] = ()
    sort_by: SortedBy = SortedBy.STARTED
    order: SortOrder = SortOrder.ASCENDING
    quiet: bool = False
    as_json: bool = False
    as_csv: bool = False
