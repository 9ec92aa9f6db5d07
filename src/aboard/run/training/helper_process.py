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
        with (spool / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return bool(file.read(1)) or waited >= MISSING_SECONDS
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
