# SPDX-License-Identifier: Apache-2.0
"""Curves of a run, every point, read from its store: for who may ask the server but not the store."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from aboard.api.runs import Series
from aboard.errors import UnknownName
from aboard.model.run import Run
from aboard.reader.opened.open_runs import OpenedRuns
from aboard.reader.opened.opened_run import OpenedRun
from aboard.reader.roots import find_roots
from aboard.store.run.layout import EVENTS
from aboard.store.store import Store


def run_series(store: Store, run: Run, tags: Sequence[str], logdirs: Sequence[str]) -> list[Series]:
    """The named curves, or all; a name that the run does not have is an error that tells the nearest."""
    logdirs = ["" if logdir == "." else logdir for logdir in logdirs]
    with _opened(store, run) as opened:
        found = {(_logdir(store, one.name), tag): (one, tag) for one in opened.runs for tag in one.scalars}
        _refuse_unknown("tag", tags, {tag for _, tag in found}, run)
        _refuse_unknown("logdir", logdirs, {logdir for logdir, _ in found}, run)
        wanted = [key for key in sorted(found) if (not logdirs or key[0] in logdirs) and (not tags or key[1] in tags)]
        return [_series(logdir, *found[logdir, tag]) for logdir, tag in wanted]


def _opened(store: Store, run: Run) -> OpenedRuns:
    """In a folder the event files stand as they are; in a bucket the manifest of the run says how."""
    if "://" in store.uri:
        roots = find_roots([("", f"{store.uri}/{run.uid}")])
    else:
        folder = Path(store.uri, run.uid, EVENTS)
        roots = find_roots([("", folder)]) if folder.exists() else {}  # a run that has just begun has none
    opened = OpenedRuns(roots)
    opened.refresh()
    return opened


def _logdir(store: Store, name: str) -> str:
    """The logdir in the name of what was opened; in a bucket the name of the run stands before it."""
    if "://" in store.uri:
        return name.partition("/")[2]
    return "" if name == "." else name


def _series(logdir: str, run: OpenedRun, tag: str) -> Series:
    points = run.scalars[tag]
    return Series(
        logdir=logdir,
        tag=tag,
        steps=tuple(points.steps.tolist()),
        wall_times=tuple(points.wall_times.tolist()),
        values=tuple(points.values.tolist()),
    )


def _refuse_unknown(what: str, asked: Sequence[str], known: set[str], run: Run) -> None:
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or sorted(known)[:5]
            hint = f"nearest: {', '.join(near)}" if near else "it has no curves yet"
            raise UnknownName(f"{run.name} has no {what} {name!r}", hint=hint)
