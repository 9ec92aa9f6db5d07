# SPDX-License-Identifier: Apache-2.0
"""The summary of a run: facts that its processes logged, metrics from its event files, and how it ended."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from aboard._native import Logdir, LogTree, ScalarPoint, scalar_summaries
from aboard.errors import AboardError
from aboard.model.hparams import HparamValue, hparams_from_json
from aboard.model.runs import MetricPoint, MetricSummary, Note
from aboard.run.secrets import Secrets
from aboard.run.spool import FactReader
from aboard.store.run.documents import Summary, parse_summary

SYSTEM = "system"
"""The logdir with the use of the machine, which says nothing about the training."""
_SLICE = 0.2


@dataclass
class _Folder:
    name: str
    path: Path
    logdir: Logdir
    root: int
    version: int = -1
    metrics: dict[str, MetricSummary] = field(default_factory=dict[str, MetricSummary])


class EventMetrics:
    """The metrics in the folders of a run. Names are `<logdir>/<tag>`, and the tag alone at the top of the run."""

    def __init__(self, folders: Mapping[Path, Callable[[Path], bool]]) -> None:
        self._accept = list(folders.values())
        self._tree = LogTree([os.fsencode(path) for path in folders], notifications=False)
        self._folders: dict[int, _Folder] = {}

    def summaries(self) -> dict[str, MetricSummary]:
        """What the files hold now."""
        self._read_new()
        found: dict[str, MetricSummary] = {}
        for folder in sorted(self._folders.values(), key=lambda one: one.name):
            if folder.name != SYSTEM and not folder.name.startswith(f"{SYSTEM}/"):
                found |= _metrics_of(folder)
        return found

    def _read_new(self) -> None:
        self._tree.look()
        while True:
            gone, found, to_read = self._tree.take(_SLICE)
            for number in gone:
                self._folders.pop(number, None)
            for new in found:
                self._folders[new.id] = _Folder(
                    _logdir_name(os.fsdecode(new.name)), Path(os.fsdecode(new.path)), Logdir(new.path), new.root
                )
            for unread in to_read:
                if folder := self._folders.get(unread.id):
                    accept = self._accept[folder.root]
                    own = [name for name in unread.files if accept(folder.path / os.fsdecode(name))]
                    folder.logdir.refresh(own)
            if not self._tree.is_looking:
                return


def _logdir_name(below: str) -> str:
    name = "" if below == "." else below
    return "" if name == "tensorboard" else name.removeprefix("tensorboard/")


def _metrics_of(folder: _Folder) -> dict[str, MetricSummary]:
    version = folder.logdir.version
    if version != folder.version:
        above = f"{folder.name}/" if folder.name else ""
        [summaries] = scalar_summaries([folder.logdir])
        folder.metrics = {
            f"{above}{one.tag}": MetricSummary(
                _point(one.last),
                _point(one.smallest) if one.smallest else None,
                _point(one.largest) if one.largest else None,
                one.count,
            )
            for one in summaries
            if not one.tag.startswith("_hparams_/")
        }
        folder.version = version
    return folder.metrics


def _point(point: ScalarPoint) -> MetricPoint:
    wall_time = point.wall_time if math.isfinite(point.wall_time) else 0.0
    return MetricPoint(point.value, point.step, wall_time)


MOST_ANNOTATIONS = 10_000


class RunSummary:
    """Adds facts up as they come. Secrets are masked here, because all that leaves the machine goes through here."""

    def __init__(
        self,
        spool: Path,
        secrets: Secrets,
        metrics: Callable[[], Mapping[str, MetricSummary]],
    ) -> None:
        self._reader = FactReader(spool)
        self._secrets = secrets
        self._metrics = metrics
        self._lock = threading.Lock()
        self._summary = Summary()
        self._hparams: dict[str, HparamValue] = {}
        self._tags: dict[str, str] = {}
        self._notes: list[Note] = []
        self._annotations: list[Mapping[str, object]] = []
        self._artifacts: dict[str, None] = {}
        self.own_files: list[str] = []
        self.watched: list[Path] = []
        """Folders elsewhere in which the training says to have event files."""
        self.last_signal = ""
        self.said_status = ""
        """How the training itself says that it ended."""
        self.said_reason = ""
        self.is_certain = False
        """Whether the script said so, and not only the end of its interpreter."""

    def began(self, started: datetime) -> None:
        with self._lock:
            self._take_new()
            self._summary = replace(self._summary, started=self._summary.started or started)

    def ended(self, moment: datetime, exit_code: int | None, reason: str) -> None:
        with self._lock:
            masked = self._secrets.mask(reason)
            self._summary = replace(self._summary, ended=moment, exit_code=exit_code, reason=masked)

    def look(self) -> None:
        """Take new facts."""
        with self._lock:
            self._take_new()

    def now(self) -> Summary:
        with self._lock:
            self._take_new()
            details = {**self._summary.details, **({"artifacts": list(self._artifacts)} if self._artifacts else {})}
            return replace(
                self._summary,
                hparams=dict(self._hparams),
                tags=dict(self._tags),
                notes=tuple(self._notes),
                annotations=tuple(self._annotations),
                metrics=dict(self._metrics()),
                details=details,
            )

    def _take_new(self) -> None:
        for fact in self._reader.new():
            try:
                self._take(fact)
            except (AboardError, TypeError, ValueError):
                continue  # a line that somebody else has written

    def _take(self, fact: Mapping[str, object]) -> None:
        kind = fact["kind"]
        if kind in {"attempt", "signal", "status"}:
            self._take_turn(fact)
        elif kind in {"artifact", "own_file", "watch"}:
            self._take_file(fact)
        else:
            self._take_saying(fact)

    def _take_turn(self, fact: Mapping[str, object]) -> None:
        """Something in the life of the run."""
        match fact["kind"]:
            case "attempt":  # how an earlier one ended no longer holds
                self._summary = replace(self._summary, ended=None, exit_code=None, reason="")
                self.last_signal = self.said_status = self.said_reason = ""
                self.is_certain = False
            case "signal":
                self.last_signal = str(fact["name"])
            case _:
                self.said_status, self.said_reason = str(fact["status"]), str(fact.get("reason", ""))
                self.is_certain = fact.get("is_certain") is not False

    def _take_file(self, fact: Mapping[str, object]) -> None:
        """Something about files."""
        match fact["kind"]:
            case "artifact":
                self._artifacts[str(fact["path"])] = None
            case "own_file":
                self.own_files.append(str(fact["path"]))
            case _:
                folder = Path(str(fact["folder"]))
                if folder not in self.watched:
                    self.watched.append(folder)

    def _take_saying(self, fact: Mapping[str, object]) -> None:
        """Something that people want to know; kinds of later versions are passed over."""
        values = fact.get("values")
        match fact["kind"]:
            case "earlier":
                self._take_earlier(str(fact["summary"]))
            case "hparams" if isinstance(values, Mapping):
                self._hparams.update(hparams_from_json(self._masked(cast("Mapping[str, object]", values))))
            case "tags" if isinstance(values, Mapping):
                masked = self._masked(cast("Mapping[str, object]", values))
                self._tags.update({name: str(value) for name, value in masked.items()})
            case "note":
                self._take_note(fact)
            case "annotation" if len(self._annotations) < MOST_ANNOTATIONS:
                kept = {name: value for name, value in fact.items() if name in {"name", "step", "data", "time"}}
                self._annotations.append(self._masked(kept))
            case _:
                pass

    def _take_note(self, fact: Mapping[str, object]) -> None:
        moment = datetime.fromtimestamp(float(cast("float", fact.get("time") or 0)), UTC)
        text, author = self._secrets.mask(str(fact["text"])), str(fact.get("author", ""))
        if text not in {one.text for one in self._notes}:
            self._notes.append(Note(text=text, author=author, written=moment))

    def _take_earlier(self, text: str) -> None:
        """What earlier attempts, on other machines, had come to."""
        self._summary = parse_summary(text.encode(), "the summary of earlier attempts")
        self._hparams = {**self._summary.hparams, **self._hparams}
        self._tags = {**self._summary.tags, **self._tags}
        self._notes = [*self._summary.notes, *self._notes]
        self._annotations = [*self._summary.annotations, *self._annotations]

    def _masked(self, values: Mapping[str, object]) -> dict[str, object]:
        return cast("dict[str, object]", self._secrets.mask_value("", values))
