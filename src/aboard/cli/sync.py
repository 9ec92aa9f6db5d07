# SPDX-License-Identifier: Apache-2.0
"""`aboard sync` and `aboard import`: upload what runs left behind, and turn logs of other tools into runs."""

from __future__ import annotations

import json
import logging
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import typer

from aboard.cli.output import progress_line
from aboard.config.credentials import client_settings
from aboard.config.settings import load_settings
from aboard.errors import AboardError, InvalidValue, StorageUnavailable
from aboard.exchange.foreign.log_folders import LogFolderRun, runs_below
from aboard.exchange.foreign.runs import ForeignRun, foreign_runs, write_points
from aboard.foundation.files import make_private_folder
from aboard.foundation.text import count, plain
from aboard.model.names import LONGEST_NAME, check_name, check_workspace_name
from aboard.model.run_edits import RunEdit
from aboard.reader.opened.runs import OpenedRuns
from aboard.run.spool import ATTEMPT, DESTINATION, START
from aboard.run.supervisor.console import Console, ConsoleHandler
from aboard.run.supervisor.sync import EarlierRun, SyncResult, spool_folders, take_over
from aboard.run.supervisor.sync import sync as ship
from aboard.run.supervisor.uploads import check_destinations, check_folders
from aboard.services.folders.taken_along import EditsOfFolders, take_along
from aboard.store import Store, open_store
from aboard.store.run.listing import RunListing
from aboard.store.run.run_folder import RunFolder
from aboard.upload.packing import PackResult, pack_later


def sync(folders: Sequence[str], *, timeout: float, clean: bool, as_json: bool, options: TakeOverOptions) -> int:
    """Ship what is left, say what became of each run; 1 when something is left."""
    log_warnings()
    if is_log_folder_and_store(folders):
        return report_synced(take_over_folder(folders[0], folders[1], options), as_json=as_json)
    if options != TakeOverOptions(timeout=timeout):
        raise InvalidValue(
            "--workspace, --experiment and --depth are for folders of event files that become runs of a store.",
            hint="aboard sync FOLDER STORE",
        )
    chosen = [Path(folder).expanduser().absolute() for folder in folders] or spool_folders(load_settings().home)
    return report_synced(ship(chosen, timeout=timeout, clean=clean), as_json=as_json)


def log_warnings() -> None:
    """Show what goes wrong meanwhile."""
    logging.getLogger("aboard").addHandler(ConsoleHandler(Console(), logging.WARNING))
    logging.getLogger("aboard").propagate = False


def report_synced(items: Iterable[SyncResult], *, as_json: bool) -> int:
    """Say what became of each run as it comes; 1 when something is left."""
    done: list[SyncResult] = []
    for synced in items:
        done.append(synced)
        if not as_json:
            typer.echo(f"{synced.name or synced.folder}: {synced.state.upper()}  {synced.text}")
    if as_json:
        typer.echo(json.dumps({"items": [_document(one) for one in done], "next": None}, ensure_ascii=False))
    elif not done:
        typer.echo("Nothing is left to be shipped.", err=True)
    return 0 if all(one.is_well for one in done) else 1


def _document(synced: SyncResult) -> dict[str, object]:
    return {
        "uid": synced.uid,
        "name": synced.name,
        "folder": str(synced.folder),
        "state": synced.state,
        "text": synced.text,
        "files_left": synced.files_left,
        "bytes_left": synced.bytes_left,
    }


_RESERVED = str.maketrans(dict.fromkeys(",/\\*?", "_"))


@dataclass(frozen=True, kw_only=True)
class TakeOverOptions:
    """What is asked for besides the folder and the store."""

    workspace: str | None = None
    experiment: str | None = None
    depth: int | None = None
    timeout: float = 600.0


def is_log_folder_and_store(folders: Sequence[str]) -> bool:
    """Whether the arguments are a folder of logs and a store, and not folders of runs of this machine."""
    if len(folders) != 2:
        return False
    folder = Path(folders[0]).expanduser()
    return folder.is_dir() and not any((folder / name).exists() for name in (ATTEMPT, DESTINATION, START))


def take_over_folder(folder_given: str, store_given: str, options: TakeOverOptions) -> Iterator[SyncResult]:
    """Ship one run after the other; the trouble of one does not stop the others."""
    settings = load_settings({"workspace": options.workspace})
    viewed = Path(folder_given).expanduser().absolute()
    folder = viewed.resolve()
    store, _ = check_destinations(store_given, ())
    check_folders(settings.home, None, [folder], [store])
    workspace = check_workspace_name(settings.workspace)
    experiment = None if options.experiment is None else check_name(options.experiment, "an experiment")
    edits = EditsOfFolders(settings.home)
    runs = _find_runs(folder, options.depth)
    _warn_of_others(set(edits.below(viewed)) - {viewed / run.folder.relative_to(folder) for run in runs}, viewed)
    for run in runs:
        earlier = EarlierRun(
            folder=run.folder,
            name=make_run_name(run.name),
            identity=run.identity,
            created=run.created,
            ended=run.ended,
            workspace=workspace,
            experiment=experiment,
            hparams=run.hparams,
            source=str(run.folder),
        )
        synced = take_over_run(earlier, store, settings.home, options.timeout)
        yield _with_edits(synced, earlier, store, edits.of(viewed / run.folder.relative_to(folder)))


def take_over_run(run: EarlierRun, store: str, home: Path, timeout: float) -> SyncResult:
    """Take one run over; what goes wrong is told as what became of it."""
    try:
        return take_over(run, store, home, timeout)
    except AboardError as error:
        return SyncResult(folder=run.folder, uid=run.uid, name=run.name, state="failed", text=str(error))


def _with_edits(synced: SyncResult, run: EarlierRun, store: str, edit: RunEdit) -> SyncResult:
    """Take along what people added to a run in `aboard view`."""
    if not synced.is_well or synced.state == "in use":
        return synced
    try:
        taken = take_along(RunFolder(open_store(store), run.uid), edit, run.name)
    except AboardError as error:
        return replace(synced, state="failed", text=f"{synced.text}; its tags and notes were not taken along: {error}")
    return replace(synced, text=f"{synced.text}; took along: {', '.join(taken)}") if taken else synced


def _warn_of_others(others: Collection[Path], viewed: Path) -> None:
    if others:
        typer.echo(
            f"Names, tags and notes of {count(len(others), 'run')} of `aboard view` are not taken along, such as those "
            f"of {plain(str(min(others).relative_to(viewed)))}: it is not a run of its own here. See --depth.",
            err=True,
        )


def make_run_name(text: str) -> str:
    """A name that a run may have, as close to a text as possible."""
    shown = "".join(character if character.isprintable() else "_" for character in text.translate(_RESERVED)).strip()
    return shown[:LONGEST_NAME].strip() or "run"


def _find_runs(folder: Path, depth: int | None) -> list[LogFolderRun]:
    opened = OpenedRuns({"": folder})
    with progress_line(lambda: f"{opened.progress.runs_read} of {opened.progress.runs_found} log folders read"):
        opened.refresh()
    if not opened.runs:
        raise InvalidValue(f"There are no event files below {folder}.", hint="Name the folder that TensorBoard opens.")
    return runs_below(opened, folder, depth=depth)


_AT_ONCE = 4  # each has the event files of a run on this machine, and decodes them


class PackedRun(NamedTuple):
    """A run, and what became of it; `problem` where the store refused."""

    store: str
    uid: str
    state: str
    problem: str = ""


def sync_columns(uris: Sequence[str], *, as_json: bool) -> int:
    """Say what became of each run that had none, and how many had; 1 when one failed."""
    if not uris:
        raise InvalidValue(
            "--columns needs the store whose runs are meant.", hint="aboard sync --columns s3://bucket/runs"
        )
    done: list[PackedRun] = []
    for store in [_opened(uri) for uri in uris]:
        for run in _packed(store):
            done.append(run)
            if not as_json and run.state != PackResult.THERE:
                typer.echo(f"{run.uid}: {run.state.upper()}{f'  {run.problem}' if run.problem else ''}")
    if as_json:
        typer.echo(json.dumps({"items": [run._asdict() for run in done], "next": None}, ensure_ascii=False))
    else:
        packed = sum(run.state == PackResult.PACKED for run in done)
        typer.echo(f"{packed} of {len(done)} runs got columns; {_there(done)} had them.", err=True)
    return 1 if any(run.problem for run in done) else 0


def _there(done: Sequence[PackedRun]) -> int:
    return sum(run.state == PackResult.THERE for run in done)


def _opened(uri: str) -> Store:
    store = open_store(uri)
    if store.can_append:
        raise InvalidValue(f"{uri} is a folder, whose event files are read where they are.", hint="name a bucket")
    return store


def _packed(store: Store) -> Iterator[PackedRun]:
    def packed(uid: str) -> PackedRun:
        try:
            return PackedRun(store.uri, uid, pack_later(RunFolder(store, uid)).value)
        except AboardError as error:
            return PackedRun(store.uri, uid, "failed", error.message)

    uids = RunListing(store).new()
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        yield from threads.map(packed, uids)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of `aboard import`."""

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

    def runs(self) -> Iterator[SyncResult]:
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
                yield take_over_run(self._earlier(run, Path(folder), workspace), store, settings.home, options.timeout)

    def _earlier(self, run: ForeignRun, folder: Path, workspace: str) -> EarlierRun:
        group = self.options.experiment or run.experiment
        return EarlierRun(
            folder=folder,
            name=make_run_name(run.name),
            identity=run.identity,
            created=run.created,
            ended=run.ended,
            status=run.status,
            workspace=workspace,
            experiment=make_run_name(group) if group else None,
            hparams=run.hparams,
            tags=run.tags,
            notes=run.notes,
            user=run.user,
            source=run.source,
        )


def import_runs(options: ImportOptions) -> int:
    """Take all runs over, say what became of each; 1 when something went wrong."""
    log_warnings()
    importing = _Import(options)
    code = report_synced(_require_runs(importing.runs(), options), as_json=options.as_json)
    typer.echo(f"{importing.points:,} points read", err=True)
    if importing.left_out:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in importing.left_out.most_common())
        typer.echo(f"Left out, because they are no numbers: {kinds}", err=True)
    return code


def _require_runs(runs: Iterator[SyncResult], options: ImportOptions) -> Iterator[SyncResult]:
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
