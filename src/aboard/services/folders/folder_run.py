# SPDX-License-Identifier: Apache-2.0
"""One run of a folder or bucket: what its event files, its `run.json` and people's edits say about it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from aboard._native import ScalarPoint, TagSummary
from aboard.model.hparams import HparamValue, flat_hparams
from aboard.model.run_edits import NO_EDIT, RunEdit
from aboard.model.runs import Attempt, MetricPoint, MetricSummary, Note, RunRecord
from aboard.model.states import RunState
from aboard.reader.hparams import own_hparams
from aboard.reader.roots import StoredLogdir
from aboard.reader.run import RunReader, Tag, find_tag

LIVE_SECONDS = 120.0
"""A run without a `run.json` counts as running as long as its newest point is no older."""
_HPARAMS_TAGS = "_hparams_/"


class FolderRun:
    """A run of a `FolderSource`. Attributes have the names of `RunRecord`, so that filters work on both."""

    __slots__ = (
        "_bytes", "_first_time", "_last_time", "_version", "created", "edit", "folder", "hparams", "logdirs", "metrics",
        "number", "path", "plain_name", "root", "stored", "uid", "workspace",
    )  # fmt: skip

    def __init__(
        self,
        *,
        number: int,
        uid: str,
        root: str,
        path: str,
        name: str,
        workspace: str,
        edit: RunEdit = NO_EDIT,
    ) -> None:
        """`root` and `path` identify the run within its source; `name` is what people read."""
        self.number, self.uid, self.root, self.path = number, uid, root, path
        self.plain_name, self.workspace, self.edit = name, workspace, edit
        self.folder = path
        """Where its files are, below the root."""
        self.stored: RunRecord | None = None
        self.logdirs: Mapping[str, RunReader] = {}
        self.hparams: Mapping[str, HparamValue] = {}
        self.metrics: Mapping[str, TagSummary] = {}
        self.created = datetime.now(UTC)
        self._version = -1
        self._bytes = 0
        self._first_time = self._last_time = math.nan

    def describe(self, known: StoredLogdir, record: RunRecord | None) -> None:
        """Take over what the documents of a store say about the run."""
        self.uid, self.plain_name, self.stored, self.folder = known.uid, known.name, record, known.run
        if record is not None:
            self.created = record.created

    @property
    def version(self) -> int:
        """Changes when anything new was read."""
        return sum(reader.logdir.version for reader in self.logdirs.values())

    @property
    def is_current(self) -> bool:
        """Whether all that was read is in here."""
        return self._version == self.version

    def learn(self, summaries: Mapping[str, Sequence[TagSummary]]) -> None:
        """Take over what was read; `summaries` are those of each logdir."""
        self._version = self.version
        metrics: dict[str, TagSummary] = {}
        hparams: dict[str, object] = {}
        for logdir, reader in self.logdirs.items():
            above = f"{logdir}/" if logdir else ""
            for one in summaries[logdir]:
                if not one.tag.startswith(_HPARAMS_TAGS):
                    metrics[f"{above}{one.tag}"] = one
            hparams |= own_hparams(reader)
        self.metrics = metrics
        self.hparams = {
            **flat_hparams(cast("Mapping[str, object]", hparams)),
            **(self.stored.hparams if self.stored else {}),
        }
        read = [reader.logdir.summary() for reader in self.logdirs.values()]
        self._bytes = sum(bytes_read for bytes_read, _, _ in read)
        # A file begins with a record that has the time of its making, which copies and tests do not share with points.
        newest = max((newest for _, newest, _ in read), default=math.nan)
        self._first_time = min(map(_first_time, metrics.values()), default=newest)
        self._last_time = max(map(_last_time, metrics.values()), default=newest)
        if self.stored is None and (first := _moment(self._first_time)):
            self.created = first

    def find_metric(self, name: str) -> Tag | None:
        """The tag that holds a metric, by the name that the metric has in `metrics`."""
        for logdir, reader in self.logdirs.items():
            tag = name.removeprefix(f"{logdir}/") if logdir else name
            if (not logdir or tag != name) and (found := find_tag(reader, "scalars", tag)):
                return found
        return None

    @property
    def name(self) -> str:
        return self.edit.name or self.plain_name

    @property
    def status(self) -> RunState:
        if self.stored is not None:
            return self.stored.status
        if self._version < 0:
            return RunState.CREATED
        return RunState.RUNNING if time.time() - self._last_time < LIVE_SECONDS else RunState.COMPLETED

    @property
    def started(self) -> datetime | None:
        return (self.stored.started if self.stored else None) or _moment(self._first_time)

    @property
    def heartbeat(self) -> datetime | None:
        return (self.stored.heartbeat if self.stored else None) or _moment(self._last_time)

    @property
    def ended(self) -> datetime | None:
        if self.stored is not None:
            return self.stored.ended
        return _moment(self._last_time) if self.status.is_ended else None

    @property
    def updated(self) -> datetime | None:
        return _moment(self._last_time)

    @property
    def duration(self) -> float | None:
        if self.started is None or self.heartbeat is None:
            return None
        return max(0.0, ((self.ended or self.heartbeat) - self.started).total_seconds())

    @property
    def files(self) -> int:
        return sum(len(reader.logdir.files()) for reader in self.logdirs.values())

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def tags(self) -> Mapping[str, str]:
        own: Mapping[str, str] = self.stored.tags if self.stored else {}
        return {name: value for name, value in {**own, **self.edit.tags}.items() if name not in self.edit.removed_tags}

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*(self.stored.notes if self.stored else ()), *self.edit.notes)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return self.stored.attempts if self.stored else ()

    @property
    def deleted(self) -> datetime | None:
        return self.edit.deleted or (self.stored.deleted if self.stored else None)

    @property
    def experiment(self) -> str | None:
        return self.stored.experiment if self.stored else None

    @property
    def experiment_number(self) -> int | None:
        return None

    @property
    def user(self) -> str:
        return self.stored.user if self.stored else ""

    @property
    def host(self) -> str:
        return self.stored.host if self.stored else ""

    @property
    def store(self) -> str:
        return self.stored.store if self.stored else ""

    @property
    def reason(self) -> str:
        return self.stored.reason if self.stored else ""

    @property
    def exit_code(self) -> int | None:
        return self.stored.exit_code if self.stored else None

    def record(self, hparams: Sequence[str] | None = None, metrics: Sequence[str] | None = None) -> RunRecord:
        """The record, with the named hyperparameters and metrics only; None stands for all."""
        shown = (
            self.metrics if metrics is None else {name: self.metrics[name] for name in metrics if name in self.metrics}
        )
        return RunRecord(
            uid=self.uid,
            workspace=self.workspace,
            created=self.created,
            status=self.status,
            number=self.number,
            name=self.name,
            experiment=self.experiment,
            user=self.user,
            host=self.host,
            store=self.store,
            started=self.started,
            ended=self.ended,
            heartbeat=self.heartbeat,
            updated=self.updated,
            exit_code=self.exit_code,
            reason=self.reason,
            files=self.files,
            bytes=self.bytes,
            hparams=self.hparams
            if hparams is None
            else {name: self.hparams[name] for name in hparams if name in self.hparams},
            metrics={name: _summary(one) for name, one in shown.items()},
            tags=self.tags,
            notes=self.notes,
            attempts=self.attempts,
            deleted=self.deleted,
            details=self.stored.details if self.stored else {},
        )


def _first_time(metric: TagSummary) -> float:
    return metric.first.wall_time


def _last_time(metric: TagSummary) -> float:
    return metric.last.wall_time


def _summary(one: TagSummary) -> MetricSummary:
    return MetricSummary(
        _point(one.last),
        _point(one.smallest) if one.smallest else None,
        _point(one.largest) if one.largest else None,
        one.count,
    )


def _point(point: ScalarPoint) -> MetricPoint:
    return MetricPoint(point.value, point.step, point.wall_time if math.isfinite(point.wall_time) else 0.0)


def _moment(seconds: float) -> datetime | None:
    """A time; None for what no clock shows, such as the wall time 0 of some writers."""
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
