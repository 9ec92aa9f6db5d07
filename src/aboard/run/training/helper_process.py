# SPDX-License-Identifier: Apache-2.0
"""Starts the process that ships the files of a run, when no supervisor does; it outlives the training.

It is started by exec, in a session of its own, and is no child of the training: whoever waits for all children does not
wait for it, and what kills the training does not kill it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

from aboard.run.local_json import read_json
from aboard.run.spool_files import HELPER_LOG, LOCK, PROGRESS

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


def wait_until_shipped(spool: Path, timeout: float) -> None:
    """Wait for the helper's last word, and tell how far it is when that takes long; one that was killed is replaced."""
    end = time.monotonic() + timeout
    say = time.monotonic() + min(_SAY_SECONDS, timeout / 2)
    missing_since: float | None = time.monotonic()
    while_missing = MISSING_SECONDS
    while not (progress := read_json(spool / PROGRESS)).get("is_over"):
        now = time.monotonic()
        if now >= end:
            left = progress.get("text", "nothing was shipped yet")
            _log.warning("%s. Shipping goes on without this process; `aboard sync %s` finishes it.", left, spool)
            return
        if now >= say:
            _log.warning("Waiting for the files of the run to be shipped: %s", progress.get("text", "starting"))
            say = now + _SAY_SECONDS
        missing_since = (missing_since or now) if is_missing(spool) else None
        if missing_since is not None and now - missing_since >= while_missing:
            start_helper(spool)
            missing_since, while_missing = None, timeout
        time.sleep(_LOOK_SECONDS)
    if progress.get("left"):
        _log.warning("%s. `aboard sync %s` finishes it.", progress.get("text", ""), spool)


def is_missing(spool: Path) -> bool:
    """Whether nobody holds the lock of the spool: the helper has not begun, or is gone."""
    try:
        with (spool / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


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
