# SPDX-License-Identifier: Apache-2.0
"""A run: one training history, with all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.model.attempt import Attempt
from aboard.model.hparams import HparamValue
from aboard.model.metric_summary import MetricSummary
from aboard.model.note import Note
from aboard.model.run_states import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as its store and the catalog know it. Numbers are given by a catalog and are None before."""

    uid: str
    workspace: str
    created: datetime
    status: RunState = RunState.CREATED
    number: int | None = None
    name: str = ""  # empty: the catalog calls it after its number
    experiment: str | None = None
    experiment_number: int | None = None
    user: str = ""
    host: str = ""
    store: str = ""  # the URI of the store that holds its files
    started: datetime | None = None
    ended: datetime | None = None
    heartbeat: datetime | None = None
    updated: datetime | None = None  # when its document was last written, by the writer's clock
    revision: int | None = None  # counts how often its document was written; clocks of machines disagree
    exit_code: int | None = None
    reason: str = ""
    files: int | None = None
    bytes: int | None = None
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict[str, MetricSummary])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])  # a tag without a value has an empty one
    notes: tuple[Note, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    deleted: datetime | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])  # what else its document says

    @property
    def duration(self) -> float | None:
        """Seconds from the start of the first attempt to the end of the last, with the time between attempts.

        While there is no end, to the last heartbeat.
        """
        until = self.ended or self.heartbeat
        if self.started is None or until is None:
            return None
        return max(0.0, (until - self.started).total_seconds())
