# SPDX-License-Identifier: Apache-2.0
"""One server process per SQLite catalog, held by a lock that the system drops when the process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from aboard.errors import CatalogUnavailable, Conflict


class ServerLock:
    """The lock on `<catalog>.lock`, whose text is the number of the process that holds it."""

    def __init__(self, catalog: Path) -> None:
        self._path = catalog.with_name(catalog.name + ".lock")
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CatalogUnavailable(f"{self._path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise Conflict(
                f"the catalog {catalog} is in use by another server, process {holder or 'unknown'}",
                hint="stop it, or use PostgreSQL when several servers share a catalog",
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have it; the file stays, because removing it would let two hold locks on two files."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.close(self._file)
