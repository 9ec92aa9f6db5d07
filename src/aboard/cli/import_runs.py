# SPDX-License-Identifier: Apache-2.0
"""`aboard import TOOL PLACE [STORE]`: runs of other tools become runs of a store."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import typer

from aboard.cli.sync import listen, told
from aboard.cli.take_over import run_name_of, taken
from aboard.config.credentials import client_settings
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.foreign.runs import ForeignRun, foreign_runs, write_points
from aboard.foundation.files import make_private_folder
from aboard.model.names import check_name, check_workspace_name
from aboard.run.supervisor.destination import check_destinations
from aboard.run.supervisor.sync import EarlierRun, Synced


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What is asked for."""

    tool: str
    place: str
    store: str | None = None
    workspace: str | None = None
    experiment: str | None = None
    timeout: float = 600.0
    as_json: bool = False


@dataclass
class _Import:
    """Takes runs over one by one; what was left out is told at the end."""

    options: ImportOptions
    points: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])

    def runs(self) -> Iterator[Synced]:
        options = self.options
        settings = client_settings({"workspace": options.workspace, "store": options.store})
        store, _ = check_destinations(settings.store, ())
        workspace = check_workspace_name(settings.workspace)
        if options.experiment is not None:
            check_name(options.experiment, "an experiment")
        for run in foreign_runs(options.tool, options.place):
            with _scratch(settings.home) as folder:
                self.points += write_points(run, Path(folder))
                self.left_out.update(run.left_out)
                yield taken(self._earlier(run, Path(folder), workspace), store, settings.home, options.timeout)

    def _earlier(self, run: ForeignRun, folder: Path, workspace: str) -> EarlierRun:
        group = self.options.experiment or run.experiment
        return EarlierRun(
            folder=folder,
            name=run_name_of(run.name),
            identity=run.identity,
            created=run.created,
            ended=run.ended,
            status=run.status,
            workspace=workspace,
            experiment=run_name_of(group) if group else None,
            hparams=run.hparams,
            tags=run.tags,
            notes=run.notes,
            user=run.user,
            source=run.source,
        )


def import_runs(options: ImportOptions) -> int:
    """Take all runs over, say what became of each; 1 when something went wrong."""
    listen()
    importing = _Import(options)
    code = told(_at_least_one(importing.runs(), options), as_json=options.as_json)
    typer.echo(f"{importing.points:,} points read", err=True)
    if importing.left_out:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in importing.left_out.most_common())
        typer.echo(f"Left out, because they are no numbers: {kinds}", err=True)
    return code


def _at_least_one(runs: Iterator[Synced], options: ImportOptions) -> Iterator[Synced]:
    is_empty = True
    for run in runs:
        is_empty = False
        yield run
    if is_empty:
        raise InvalidValue(f"{options.place} holds no runs of {options.tool}.")


def _scratch(home: Path) -> tempfile.TemporaryDirectory[str]:
    try:
        make_private_folder(home)
        return tempfile.TemporaryDirectory(prefix="import-", dir=home)
    except OSError as error:
        raise StorageUnavailable(f"{home} cannot be written: {error.strerror}.") from None
