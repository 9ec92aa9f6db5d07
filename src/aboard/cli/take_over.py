# SPDX-License-Identifier: Apache-2.0
"""`aboard sync FOLDER STORE`: log folders that were written without aboard become runs of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.cli.progress_line import progress_line
from aboard.config.settings import load_settings
from aboard.errors import AboardError, InvalidValue
from aboard.exchange.foreign.log_folders import FoundRun, runs_below
from aboard.model.names import LONGEST_NAME, check_name, check_workspace_name
from aboard.reader.opened.runs import OpenedRuns
from aboard.run.spool import ATTEMPT, DESTINATION, START
from aboard.run.supervisor.destination import check_destinations, check_folders
from aboard.run.supervisor.sync import EarlierRun, Synced, take_over

_RESERVED = str.maketrans(dict.fromkeys(",/\\*?", "_"))


@dataclass(frozen=True, kw_only=True)
class TakeOverOptions:
    """What is asked for besides the folder and the store."""

    workspace: str | None = None
    experiment: str | None = None
    depth: int | None = None
    timeout: float = 600.0


def is_meant(folders: Sequence[str]) -> bool:
    """Whether the arguments are a folder of logs and a store, and not folders of runs of this machine."""
    if len(folders) != 2:
        return False
    folder = Path(folders[0]).expanduser()
    return folder.is_dir() and not any((folder / name).exists() for name in (ATTEMPT, DESTINATION, START))


def taken_over(folder_given: str, store_given: str, options: TakeOverOptions) -> Iterator[Synced]:
    """Ship one run after the other; the trouble of one does not stop the others."""
    settings = load_settings({"workspace": options.workspace})
    folder = Path(folder_given).expanduser().resolve()
    store, _ = check_destinations(store_given, ())
    check_folders(settings.home, None, [folder], [store])
    workspace = check_workspace_name(settings.workspace)
    experiment = None if options.experiment is None else check_name(options.experiment, "an experiment")
    for run in _found(folder, options.depth):
        earlier = EarlierRun(
            folder=run.folder,
            name=run_name_of(run.name),
            identity=run.identity,
            created=run.created,
            ended=run.ended,
            workspace=workspace,
            experiment=experiment,
            hparams=run.hparams,
            source=str(run.folder),
        )
        yield taken(earlier, store, settings.home, options.timeout)


def taken(run: EarlierRun, store: str, home: Path, timeout: float) -> Synced:
    """Take one run over; what goes wrong is told as what became of it."""
    try:
        return take_over(run, store, home, timeout)
    except AboardError as error:
        return Synced(folder=run.folder, uid=run.uid, name=run.name, state="failed", text=str(error))


def run_name_of(text: str) -> str:
    """A name that a run may have, as close to a text as possible."""
    shown = "".join(character if character.isprintable() else "_" for character in text.translate(_RESERVED)).strip()
    return shown[:LONGEST_NAME].strip() or "run"


def _found(folder: Path, depth: int | None) -> list[FoundRun]:
    opened = OpenedRuns({"": folder})
    with progress_line(lambda: f"{opened.progress.runs_read} of {opened.progress.runs_found} log folders read"):
        opened.refresh()
    if not opened.runs:
        raise InvalidValue(f"There are no event files below {folder}.", hint="Name the folder that TensorBoard opens.")
    return runs_below(opened, folder, depth=depth)
