# SPDX-License-Identifier: Apache-2.0
"""One process at a time ships the files of a run from this machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from aboard.config.unwritable_home import home_hint
from aboard.errors import RunClaimed, StorageUnavailable
from aboard.folder_files import make_private_folder
from aboard.process_lock import LockHeld, ProcessLock
from aboard.run.spool_files import LOCK


@contextmanager
def spool_locked(spool: Path) -> Generator[None]:
    """Hold the lock of a spool."""
    try:
        make_private_folder(spool)
        lock = ProcessLock(spool / LOCK, mode=0o644)
    except LockHeld as held:
        raise RunClaimed(
            f"The run in {spool} is being worked on by process {held.holder or '?'} of this machine.",
            hint="End that process first, or start a new run.",
        ) from None
    except OSError as error:
        raise StorageUnavailable(f"{spool} cannot be written: {error.strerror}.", hint=home_hint(error)) from None
    try:
        yield
    finally:
        lock.release()
