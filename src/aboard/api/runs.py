# SPDX-License-Identifier: Apache-2.0
"""Requests and responses about runs, selections of runs and their files, beside `aboard.model.runs.RunRecord`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.model.hparams import HparamValue
from aboard.model.runs import RunRecord
from aboard.model.selections import NumberKind, SelectedRun
from aboard.model.states import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """What is to change in some runs; what is None stays as it is."""

    runs: tuple[str, ...]
    """`run343`, a number, a uid, a name, or `workspace/name`."""
    name: str | None = None
    """For one run only."""
    workspace: str | None = None
    experiment: str | None = None
    """Another experiment, which is made when it is not there; an empty text takes the runs out of theirs."""
    set_tags: Mapping[str, str] = field(default_factory=dict[str, str])
    remove_tags: tuple[str, ...] = ()
    note: str | None = None
    """A note to add."""
    author: str = ""
    """Of the note, where the server does not know better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBatch:
    """Runs to delete or restore; with `files` a deletion is permanent."""

    runs: tuple[str, ...]
    files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProblem:
    """A run that could not be changed, and why."""

    run: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsChanged:
    """The runs as they are now, and those that stayed as they were."""

    items: tuple[RunRecord, ...]
    problems: tuple[RunProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCount:
    """How many runs there are."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMarks:
    """Where the pages of a list begin: `marks[0]` is what `after` is for the second page, and so on."""

    count: int
    every: int
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """Names of all hyperparameters and metrics that runs have, and of the tags of the newest of them."""

    hparams: tuple[str, ...]
    metrics: tuple[str, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldValue:
    """A value that runs have in a field."""

    text: str
    """As a filter writes it: texts in quotes, numbers without."""
    runs: int
    """How many of the runs that were looked at have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldValues:
    """Values of a field, the most frequent first."""

    items: tuple[FieldValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run that is about to begin and wants a number, and a name where it has none."""

    uid: str
    workspace: str
    experiment: str = ""
    name: str = ""
    user: str = ""
    host: str = ""
    store: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    """The status of the run that sent the heartbeat; if it has ended, the sender stops."""

    status: RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field in which two runs differ, as `hparams.lr` or `status`; None where a run does not have it."""

    field: str
    first: bool | int | float | str | None
    second: bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, and all that is not the same in them."""

    first: RunRecord
    second: RunRecord
    differences: tuple[Difference, ...] = ()
    same: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    """Hyperparameters that both have alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """How much the runs of one group take."""

    group: str
    runs: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Storage that runs take, the largest group first."""

    by: str
    items: tuple[UsageRow, ...]
    runs: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRequest:
    """Which runs are no longer to be kept. Runs that are not over are never touched."""

    where: str = ""
    workspaces: tuple[str, ...] = ()
    older_than_seconds: float | None = None
    """Since they ended, or were last heard of."""
    keep_newest: int = 0
    """So many of them stay, in each experiment."""
    files: bool = False
    """Delete their files too, for good; else they go into the bin."""
    in_bin: bool = False
    """Ask about runs that are in the bin; `older_than_seconds` then counts from their deletion."""
    dry_run: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionResult:
    """What was, or with `dry_run` would be, deleted."""

    dry_run: bool
    items: tuple[RunRecord, ...]
    bytes: int
    problems: tuple[RunProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRequest:
    """A selection as a person typed it."""

    words: tuple[str, ...] = ()
    where: str = ""
    zone: int = 0
    """Minutes east of Greenwich, for times in `where` that say no zone."""
    workspace: str = ""
    """Meant where a name or pattern has none."""
    numbers: NumberKind = NumberKind.RUN
    """What a number without a word before it counts."""
    in_bin: bool = False
    exact: bool = False
    """`job7` is a number only, and not the name of an experiment when there is no number 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionResult:
    """The runs that a selection means now; `words` and `where` express the same selection at any later time."""

    words: tuple[str, ...]
    where: str
    key: str
    """The same for everybody who selects the same."""
    live: bool
    """Whether runs that come later may join."""
    runs: tuple[SelectedRun, ...]
    folders: tuple[str, ...] = ()
    """Those of which the server knows no run."""
    empty: tuple[str, ...] = ()
    """Words that select nothing, or the filter if it leaves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file of a run in its store."""

    path: str
    """`output/…`, `log/…`, or `tb/…` for event files."""
    bytes: int
    modified: datetime | None = None
    """When the training last changed it."""
    link: str = ""
    """Not empty: a symbolic link to this place."""
    gone: bool = False
    """The training deleted it; the store keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """A part of what a run has printed."""

    path: str
    """The file that it stands in; each attempt has its own."""
    offset: int
    """Where in the file the part begins."""
    next: int
    """Where it ends: ask for what comes behind with `offset`."""
    size: int
    """How long the file is so far."""
    text: str
    """What is not UTF-8 is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaEntry:
    """One logged value that is no number; `GET runs/{run}/media/content` has it."""

    step: int
    wall_time: float
    """Seconds since 1970."""
    bytes: int
    """About how large it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramEntry:
    """Counts in buckets at one step."""

    step: int
    wall_time: float
    lefts: tuple[float, ...]
    rights: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEntry:
    """A text at one step, as it was logged; not to be shown as HTML."""

    step: int
    wall_time: float
    text: str
