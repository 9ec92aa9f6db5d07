# SPDX-License-Identifier: Apache-2.0
"""Curves of a run, every point, read from its store: for who may ask the server but not the store."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from aboard._native import Points
from aboard.errors import UnknownName
from aboard.model.run import Run
from aboard.reader.run_reader import Tag
from aboard.services.curves import scalar_tags
from aboard.services.open_run import RunPlace
from aboard.services.open_runs import OpenRuns


class WholeSeries(NamedTuple):
    """One curve with every point, in the order of the run's history."""

    logdir: str
    tag: str
    points: Points


def run_series(
    pool: OpenRuns, place: RunPlace, run: Run, tags: Sequence[str], logdirs: Sequence[str]
) -> list[WholeSeries]:
    """The named curves, or all; a name that the run does not have is an error that tells the nearest."""
    logdirs = ["" if logdir == "." else logdir for logdir in logdirs]
    with pool.fresh([place]) as (opened,):
        if (failure := opened.failure) is not None:
            raise failure
        found = {
            (logdir, name): tag
            for logdir, reader in opened.logdirs.items()
            for name, tag in scalar_tags(reader).items()
        }
        _refuse_unknown("tag", tags, {tag for _, tag in found}, run)
        _refuse_unknown("logdir", logdirs, {logdir for logdir, _ in found}, run)
        wanted = [key for key in sorted(found) if (not logdirs or key[0] in logdirs) and (not tags or key[1] in tags)]
        return [_series(logdir, found[logdir, tag]) for logdir, tag in wanted]


def _series(logdir: str, tag: Tag) -> WholeSeries:
    return WholeSeries(logdir, tag.name, tag.run.logdir.scalars(tag.number, False))


def _refuse_unknown(what: str, asked: Sequence[str], known: set[str], run: Run) -> None:
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or sorted(known)[:5]
            hint = f"nearest: {', '.join(near)}" if near else "it has no curves yet"
            raise UnknownName(f"{run.name} has no {what} {name!r}", hint=hint)
