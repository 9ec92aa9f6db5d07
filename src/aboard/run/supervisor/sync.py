# SPDX-License-Identifier: Apache-2.0
"""`aboard sync`: ships what runs have left on this machine, and removes what is safe in its stores when asked to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aboard.errors import AboardError, InvalidValue, RunClaimed
from aboard.run.local_json import read_json
from aboard.run.spool_files import ATTEMPT, DESTINATION, PROGRESS, START, spools_of
from aboard.run.supervisor.destination import Destination, read_destination
from aboard.run.supervisor.leftovers import ship_leftovers
from aboard.run.supervisor.log_spool import LogSpool, is_log_spool
from aboard.run.supervisor.shipping import is_complete
from aboard.run.supervisor.spool_lock import spool_locked
from aboard.run.supervisor.unattended import UnattendedRun
from aboard.upload import Spool

State = Literal["shipped", "complete", "in use", "left", "failed", "removed"]


@dataclass(frozen=True, kw_only=True)
class Synced:
    """What became of one run."""

    folder: Path
    uid: str = ""
    name: str = ""
    state: State
    text: str
    files_left: int = 0
    bytes_left: int = 0

    @property
    def is_well(self) -> bool:
        """Whether nothing is left to be done."""
        return self.state not in {"left", "failed"}


def spool_folders(home: Path) -> list[Path]:
    """The folders of all runs of this machine that aboard has begun."""
    root = spools_of(home)
    found = root.iterdir() if root.is_dir() else ()
    return sorted(path for path in found if (path / ATTEMPT).exists() or (path / START).exists())


def sync(folders: list[Path], *, timeout: float, clean: bool) -> Iterator[Synced]:
    """Ship one after the other, each within `timeout` seconds; the trouble of one does not stop the others."""
    for folder in folders:
        try:
            _refuse_others(folder)
            with spool_locked(folder):
                synced = _sync_one(folder, timeout)
                if clean and synced.state in {"shipped", "complete"}:
                    synced = _cleaned(synced)
            yield synced
        except RunClaimed as error:
            yield Synced(folder=folder, state="in use", text=error.message)
        except AboardError as error:
            yield Synced(folder=folder, state="failed", text=str(error))


def _refuse_others(folder: Path) -> None:
    """Nothing is written, not even a lock, into a folder that is no run's."""
    if not any((folder / name).exists() for name in (ATTEMPT, DESTINATION, START)):
        raise InvalidValue(
            f"{folder} is not the folder of a run that aboard has begun.",
            hint="Name one below $ABOARD_HOME/spool; `aboard sync FOLDER STORE` takes over a folder of event files.",
        )


def _sync_one(folder: Path, timeout: float) -> Synced:
    return _sync_logs(folder, timeout) if is_log_spool(folder) else _sync_run(folder, timeout)


def _sync_logs(folder: Path, timeout: float) -> Synced:
    """Log folders of `SummaryWriter("s3://…")`; what is in its store is removed here."""
    logs = LogSpool(folder)
    states = logs.ship_rest(timeout)
    return Synced(
        folder=folder,
        name=", ".join(logs.named),
        state="left" if any(state.files_left for state in states) else "shipped",
        text="; ".join(map(str, states)),
        files_left=sum(state.files_left for state in states),
        bytes_left=sum(state.bytes_left for state in states),
    )


def _sync_run(folder: Path, timeout: float) -> Synced:
    destination, name = _known(folder)
    if read_json(folder / PROGRESS).get("is_sealed") is True:
        return Synced(
            folder=folder, uid=destination.uid, name=name, state="complete", text=f"all in {destination.store}"
        )
    states = ship_leftovers(destination, timeout).states
    is_superseded = any(state.is_superseded for state in states)
    return Synced(
        folder=folder,
        uid=destination.uid,
        name=name,
        state="shipped" if is_complete(states) or is_superseded else "left",
        text="a later attempt has taken the run" if is_superseded else "; ".join(map(str, states)),
        files_left=sum(state.files_left for state in states),
        bytes_left=sum(state.bytes_left for state in states),
    )


def _known(folder: Path) -> tuple[Destination, str]:
    if (folder / START).exists() and not (folder / DESTINATION).exists():
        UnattendedRun(folder).prepare()
    run = Spool.at(folder).read_run()
    return read_destination(folder), run.name if run else ""


def _cleaned(synced: Synced) -> Synced:
    """Remove the folder of a run that is wholly in its store; an output folder elsewhere belongs to the person."""
    if read_json(synced.folder / PROGRESS).get("is_sealed") is not True:
        return synced
    shutil.rmtree(synced.folder, ignore_errors=True)
    return Synced(folder=synced.folder, uid=synced.uid, name=synced.name, state="removed", text="all is in the store")
