# SPDX-License-Identifier: Apache-2.0
"""`aboard runs export --through-server`: points as the server tells them, for who may not read the stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from aboard.cli.export import ExportOptions, checked_format, tell_exported, written_to
from aboard.cli.progress_line import progress_line
from aboard.client.client import Client
from aboard.client.series import CurveColumns
from aboard.errors import InvalidValue
from aboard.exchange.export import Exported, NamePatterns
from aboard.model.names import run_name
from aboard.model.selected_run import SelectedRun
from aboard.reader.hparams import HParam
from aboard.reader.opened.tables import Rows


@dataclass(frozen=True, slots=True)
class _Logdir:
    """A logdir as an export names it."""

    name: str
    hparams: Mapping[str, HParam]


def export_served(client: Client, runs: Mapping[str, SelectedRun], options: ExportOptions) -> None:
    """Write the points of runs, which are given by the names that they get in the table."""
    if options.superseded:
        raise InvalidValue(
            "the server tells no points that were logged anew",
            hint="leave away --superseded, or leave away --through-server to read the stores from here",
        )
    form, tags = checked_format(options), NamePatterns(options.tags)
    if options.tags:
        infos = [info.tag for run in runs.values() for info in client.series.tags(run_name(run.number), kind="scalar")]
        tags.refuse_idle(dict.fromkeys(infos).keys(), "scalar tag")
    done = Exported()
    with written_to(options) as file, progress_line(lambda: f"{done.points:,} points of {done.runs} runs written"):
        target = form(file, superseded=False)
        target.begin()
        for name, run in runs.items():
            for logdir, curves in _logdirs(client, name, run, tags):
                target.begin_run(logdir)
                for curve in curves:
                    target.add(Rows(logdir.name, curve.tag, curve.steps, curve.wall_times, curve.values))
                    done.points += len(curve)
                done.series += len(curves)
                done.runs += 1
        target.end()
    tell_exported(done, options)


def _logdirs(
    client: Client, name: str, run: SelectedRun, tags: NamePatterns
) -> Iterator[tuple[_Logdir, Sequence[CurveColumns]]]:
    """One run at a time is asked for, so that memory holds the points of one."""
    asked = run_name(run.number)
    curves = [curve for curve in client.series.get(asked) if tags.fits(curve.tag) and len(curve)]
    hparams = client.runs.get(asked).hparams
    for logdir, found in groupby(sorted(curves, key=lambda one: one.logdir), key=lambda one: one.logdir):
        yield _Logdir(f"{name}/{logdir}" if logdir else name, hparams), list(found)
