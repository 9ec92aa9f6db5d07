# SPDX-License-Identifier: Apache-2.0
"""One process at a time ships the files of a run from this machine; the lock ends with the process, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from aboard.errors import RunClaimed, StorageUnavailable
from aboard.run.spool_files import LOCK


class SpoolLock:
    """A held lock; let go at the end of a `with` block."""

    def __init__(self, spool: Path) -> None:
        try:
            spool.mkdir(parents=True, exist_ok=True)
            self._file = os.open(spool / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageUnavailable(f"{spool} cannot be written: {error.strerror}.") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._file, 40, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise RunClaimed(
                f"The run in {spool} is being worked on by process {holder or '?'} of this machine.",
                hint="End that process first, or start a new run.",
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
