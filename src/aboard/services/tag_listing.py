# SPDX-License-Identifier: Apache-2.0
"""The tags of a run: what each holds and how far it has come, page by page."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from aboard.api.page import Page
from aboard.api.series import TagInfo
from aboard.errors import InvalidValue
from aboard.reader.run_reader import DataClass, Tag
from aboard.services.open_run import OpenRun, RunPlace
from aboard.services.open_runs import OpenRuns

_KINDS = {"images": "image", "audio": "audio", "text": "text", "histograms": "histogram"}
KINDS = ("scalar", *_KINDS.values(), "graph", "tensor")
_SEPARATOR = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsAsked:
    """Which tags."""

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


def list_tags(pool: OpenRuns, place: RunPlace, asked: TagsAsked) -> Page[TagInfo]:
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


def _wanted(run: OpenRun, asked: TagsAsked) -> Iterator[tuple[str, str, Tag]]:
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
