# SPDX-License-Identifier: Apache-2.0
"""How a training process starts: its rank, the run it belongs to, and the helper process that uploads a new run.

The helper is started by exec, in a session of its own, and is no child of the training. So a script that waits for all
children does not wait for it, and a signal that kills the training does not kill it.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aboard.config.credentials import client_settings
from aboard.config.settings import load_settings
from aboard.errors import StorageUnavailable
from aboard.foundation.files import make_private_folder
from aboard.foundation.locks import is_locked
from aboard.model.names import check_name, check_workspace_name, new_uid, offline_run_name
from aboard.run.environment import RunContext, user_name
from aboard.run.spool import HELPER_LOG, LOCK, OUTPUT, PROGRESS, START, read_json, spools_of, write_json

# torchrun and accelerate; Open MPI; MPICH and Intel MPI; Horovod; srun, where a task is one process.
_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "SLURM_PROCID")


def rank_of(environ: Mapping[str, str] | None = None) -> int:
    """The rank of this process; 0 when it is the only one."""
    environ = os.environ if environ is None else environ
    for name in _VARIABLES:
        text = environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return _rank_in_torch()


def _rank_in_torch() -> int:
    """What torch.distributed knows where processes were spawned without such variables; torch is not imported here."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0
    return int(distributed.get_rank())


_log = logging.getLogger("aboard.run")
_SAY_SECONDS = 10.0
_LOOK_SECONDS = 0.05
MISSING_SECONDS = 5.0
"""A helper that was just started needs time to begin."""


def start_helper(spool: Path) -> None:
    """Start shipping what is below `spool`. A helper that cannot be started is said; training goes on without."""
    command = [sys.executable, "-P", "-m", "aboard.run.helper", str(spool)]
    try:
        with (spool / HELPER_LOG).open("ab") as log:
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                check=True,
            )
    except (OSError, subprocess.CalledProcessError) as error:
        _log.warning("Nothing is shipped while this runs: %s. `aboard sync %s` ships it later.", error, spool)


def wait_until_uploaded(spool: Path, timeout: float) -> None:
    """Wait for the helper's last word, and tell how far it is when that takes long; one that was killed is replaced."""
    begun = time.monotonic()
    end = begun + timeout
    say = time.monotonic() + min(_SAY_SECONDS, timeout / 2)
    may_replace_at = time.monotonic()
    while not (progress := read_json(spool / PROGRESS)).get("is_over"):
        now = time.monotonic()
        if now >= end:
            left = progress.get("text", "nothing was shipped yet")
            _log.warning("%s. Shipping goes on without this process; `aboard sync %s` finishes it.", left, spool)
            return
        if now >= say:
            _log.warning("Waiting for the files of the run to be shipped: %s", progress.get("text", "starting"))
            say = now + _SAY_SECONDS
        if now >= may_replace_at and is_gone(spool, now - begun):
            if read_json(spool / PROGRESS).get("is_over"):
                continue  # it ended in between
            start_helper(spool)
            may_replace_at = now + 2 * MISSING_SECONDS
        time.sleep(_LOOK_SECONDS)
    if progress.get("left"):
        _log.warning("%s. `aboard sync %s` finishes it.", progress.get("text", ""), spool)


def is_gone(spool: Path, waited: float) -> bool:
    """Whether no helper works on a spool. One that has left its number and no longer holds the lock was killed; where
    there is no number yet, it is given some time to begin (`waited`: how long it was).
    """
    try:
        lock = spool / LOCK
        return not is_locked(lock) and (bool(lock.read_bytes()) or waited >= MISSING_SECONDS)
    except FileNotFoundError:
        return waited >= MISSING_SECONDS
    except OSError:
        return False


def this_process() -> dict[str, object]:
    """What tells this process from a later one with the same number."""
    return {"pid": os.getpid(), "started": process_start(os.getpid())}


def process_start(pid: int) -> str:
    """When a process was started, by the kernel's clock; empty when it has ended or the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]


@dataclass(frozen=True, kw_only=True)
class RequestedRun:
    workspace: str | None = None
    experiment: str | None = None
    name: str | None = None
    store: str | os.PathLike[str] | None = None
    tensorboard: Path | None = None


def plan_run(wanted: RequestedRun) -> RunContext:
    """A new run; nothing is written yet."""
    settings = load_settings({"workspace": wanted.workspace})
    uid = new_uid()
    spool = spools_of(settings.home) / uid
    return RunContext(
        spool=spool,
        uid=uid,
        name=check_name(wanted.name, "a run") if wanted.name is not None else offline_run_name(uid),
        workspace=check_workspace_name(settings.workspace),
        experiment="" if wanted.experiment is None else check_name(wanted.experiment, "an experiment"),
        output=spool / OUTPUT,
    )


def start_run(place: RunContext, wanted: RequestedRun) -> None:
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
