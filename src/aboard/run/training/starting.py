# SPDX-License-Identifier: Apache-2.0
"""Which run a training process belongs to: the one that `aboard run` has begun, or a new one with its own helper."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from aboard.config.credentials import client_settings
from aboard.config.settings import load_settings
from aboard.errors import StorageUnavailable
from aboard.folder_files import make_private_folder
from aboard.model.names import check_name, check_workspace_name, offline_run_name
from aboard.model.uid import new_uid
from aboard.run.environment import RunPlace, user_name
from aboard.run.local_json import write_json
from aboard.run.spool_files import OUTPUT, START, spools_of
from aboard.run.training.helper_process import start_helper, this_process


@dataclass(frozen=True, kw_only=True)
class WantedRun:
    """What a script asks for."""

    workspace: str | None = None
    experiment: str | None = None
    name: str | None = None
    store: str | os.PathLike[str] | None = None
    tensorboard: Path | None = None


def planned_place(wanted: WantedRun) -> RunPlace:
    """A new run; nothing is written yet."""
    settings = load_settings({"workspace": wanted.workspace})
    uid = new_uid()
    spool = spools_of(settings.home) / uid
    return RunPlace(
        spool=spool,
        uid=uid,
        name=check_name(wanted.name, "a run") if wanted.name is not None else offline_run_name(uid),
        workspace=check_workspace_name(settings.workspace),
        experiment="" if wanted.experiment is None else check_name(wanted.experiment, "an experiment"),
        output=spool / OUTPUT,
    )


def begin(place: RunPlace, wanted: WantedRun) -> None:
    """Make the folder of a new run and start its helper."""
    settings = client_settings({"store": None if wanted.store is None else os.fspath(wanted.store)})
    try:
        make_private_folder(place.spool)
        place.tensorboard.mkdir(parents=True)
    except OSError as error:
        raise StorageUnavailable(
            f"The folder {place.output} for the files of the run cannot be created: {error.strerror}.",
            hint="Set ABOARD_HOME to a folder that can be written.",
        ) from None
    write_json(
        place.spool / START,
        {
            "format": "aboard-start",
            "version": [1, 0],
            "uid": place.uid,
            "name": place.name,
            "is_named": wanted.name is not None,
            "workspace": place.workspace,
            "experiment": place.experiment,
            "user": user_name(),
            "store": _absolute(settings.store),
            "tensorboard": str(wanted.tensorboard) if wanted.tensorboard else None,
            "process": this_process(),
            "command": shlex.join([sys.executable, *sys.argv]),
        },
    )
    start_helper(place.spool)


def _absolute(store: str) -> str:
    return store if "://" in store else str(Path(store).expanduser().absolute())
