# SPDX-License-Identifier: Apache-2.0
"""The tags of runs: the pages of one run's tags, and the union of several runs' tags in the order of their charts."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aboard.api.runs import RunProblem
from aboard.api.series import SharedTag, SharedTags, TagInfo
from aboard.api.wire import Page
from aboard.errors import InvalidValue
from aboard.reader.run import Tag
from aboard.reader.tags import DataClass
from aboard.services.runs.open_runs import OpenRun, OpenRuns, ReadableRuns, RunLocation

_KINDS = {"images": "image", "audio": "audio", "text": "text", "histograms": "histogram"}
KINDS = ("scalar", *_KINDS.values(), "graph", "tensor")
_SEPARATOR = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagQuery:
    """Which tags of a run, and which page of them."""

    prefix: str = ""
    kind: str = ""
    limit: int = 1000
    after: str = ""


def kind_of(tag: Tag) -> str:
    """What a tag holds."""
    if tag.meaning.data_class == DataClass.SCALAR:
        return "scalar"
    if tag.meaning.plugin.startswith("graph"):
        return "graph"
    return _KINDS.get(tag.meaning.plugin, "tensor")


def list_tags(pool: OpenRuns, place: RunLocation, asked: TagQuery) -> Page[TagInfo]:
    """One page of the tags of a run."""
    if asked.kind and asked.kind not in KINDS:
        raise InvalidValue(f"there is no kind {asked.kind!r} of tags", hint=f"kinds are {', '.join(KINDS)}")
    with pool.fresh([place]) as (run,):
        if (failure := run.failure) is not None:
            raise failure
        found = sorted(_wanted(run, asked), key=lambda one: one[0])
        begin = bisect.bisect_right(found, asked.after, key=lambda one: one[0]) if asked.after else 0
        page = found[begin : begin + asked.limit]
        more = begin + asked.limit < len(found)
        others = {logdir: run.logdirs[logdir].other_kinds() for logdir in {logdir for _, logdir, _ in page}}
        infos = (_info(logdir, tag, others[logdir].get(tag.number, "")) for _, logdir, tag in page)
        return Page(tuple(infos), page[-1][0] if more else None)


def _wanted(run: OpenRun, asked: TagQuery) -> Iterator[tuple[str, str, Tag]]:
    for logdir, reader in run.logdirs.items():
        for tag in reader.tags():
            if tag.name.startswith(asked.prefix) and asked.kind in ("", kind_of(tag)):
                yield _SEPARATOR.join((logdir, tag.name, str(tag.number))), logdir, tag


def _info(logdir: str, tag: Tag, other_kind: str) -> TagInfo:
    status, kind = tag.status, kind_of(tag)
    steps = tag.points().steps if kind == "scalar" else [entry.step for entry in tag.entries()]
    return TagInfo(
        logdir=logdir,
        tag=tag.name,
        kind=kind,
        plugin=tag.meaning.plugin,
        count=len(steps),
        first_step=int(steps[0]) if len(steps) else None,
        last_step=int(steps[-1]) if len(steps) else None,
        last_wall_time=status.last_wall_time if len(steps) else None,
        superseded=status.superseded,
        other_kind=other_kind,
        description=tag.meaning.description,
    )


_SHARED_WAIT = 1.0  # seconds: a store that needs longer is asked again, and what was read so far is told
_HPARAMS = "_hparams_/"
_NUMBERS = re.compile(r"([0-9]+)")


def shared_tags(pool: OpenRuns, runs: ReadableRuns) -> SharedTags:
    """The tags of runs, as far as these have been read."""
    with pool.fresh(list(runs.places), patience=_SHARED_WAIT) as opened:
        found = _Union()
        failed = list(runs.problems)
        waiting = 0
        for run in opened:
            if run.is_read:
                found.add(run)
            elif (problem := run.problem) is not None:
                failed.append(RunProblem(run=runs.places[run.place].name, code=problem.code, message=problem.message))
            else:
                waiting += 1
    wanted = len(opened) + len(runs.problems)
    return SharedTags(
        items=found.items(), newest=found.newest, read=wanted - waiting, wanted=wanted, problems=tuple(failed)
    )


def section_of(tag: str) -> str:
    """What charts stand under: the beginning of their tags."""
    begin, slash, _ = tag.partition("/")
    return begin if slash else ""


def in_sections(tags: Iterable[str]) -> list[str]:
    """Tags in the order in which they are seen: section by section, as these first appear."""
    sections: dict[str, list[str]] = {}
    for tag in tags:
        sections.setdefault(section_of(tag), []).append(tag)
    return [tag for members in sections.values() for tag in members]


@dataclass(slots=True)
class _Shared:
    """What is known of one tag so far."""

    logdirs: dict[str, None] = field(default_factory=dict[str, None])
    runs: int = 0
    superseded: int = 0
    other_kinds: set[str] = field(default_factory=set[str])
    last: str = ""


class _Union:
    """Collects the tags of one run after the other."""

    def __init__(self) -> None:
        self._tags: dict[tuple[str, str], _Shared] = {}
        self.newest: float | None = None

    def add(self, run: OpenRun) -> None:
        uid = run.place.uid
        for logdir, reader in sorted(run.logdirs.items()):
            statuses = reader.logdir.statuses()
            other_kinds = reader.other_kinds()
            newest = statuses.newest_wall_time
            if newest is not None and (self.newest is None or newest > self.newest):
                self.newest = newest
            for tag in reader.tags():
                if tag.name.startswith(_HPARAMS):
                    continue
                shared = self._tags.setdefault((tag.name, kind_of(tag)), _Shared())
                shared.logdirs[logdir] = None
                shared.runs += shared.last != uid
                shared.last = uid
                # Tags that have come since have no points in it.
                shared.superseded += statuses[tag.number].superseded if tag.number < len(statuses) else 0
                if tag.number in other_kinds:
                    shared.other_kinds.add(other_kinds[tag.number])

    def items(self) -> tuple[SharedTag, ...]:
        ordered = sorted(self._tags, key=lambda one: (_as_read(one[0]), one))
        return tuple(
            SharedTag(
                tag=tag,
                kind=kind,
                logdirs=tuple(shared.logdirs),
                runs=shared.runs,
                superseded=shared.superseded,
                other_kinds=tuple(sorted(shared.other_kinds)),
            )
            for tag, kind in ordered
            for shared in [self._tags[tag, kind]]
        )


def _as_read(tag: str) -> list[tuple[int, str]]:
    """Orders as a person does: whatever the case, and `layer2` before `layer10`."""
    # Numbers without zeros before them are ordered by their length first; nobody's tag is made a number of.
    parts = _NUMBERS.split(tag.casefold())
    return [(len(one.lstrip("0")), one.lstrip("0")) if at % 2 else (0, one) for at, one in enumerate(parts)]
