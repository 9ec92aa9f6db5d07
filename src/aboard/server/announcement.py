# SPDX-License-Identifier: Apache-2.0
"""How a server with a catalog elsewhere is found by the account that runs it; `aboard.client.own_servers` looks for it.

Each has one file below `server/elsewhere`, readable by its owner alone, with address and token. The process holds a
lock on that very file, which ends with it, however it ends; so a file without a lock is of a server that is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import secrets
from pathlib import Path

from aboard import __version__
from aboard.foundation.files import make_private_folder
from aboard.model.times import now, time_text

_log = logging.getLogger("aboard.server")


class Announcement:
    """The file of one server. Where it cannot be written the server is not found, which is no reason not to serve."""

    def __init__(self, home: Path, *, url: str, token: str, catalog: str) -> None:
        folder = home / "server" / "elsewhere"
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
        self._file: int | None = None
        document = {
            "format": "aboard-server",
            "version": [1, 0],
            "url": url,
            "token": token,
            "catalog": catalog,
            "pid": os.getpid(),
            "aboard": __version__,
            "started": time_text(now()),
        }
        try:
            make_private_folder(folder)
            _remove_dead(folder)
            self._write(json.dumps(document).encode())
        except OSError as error:
            _log.warning("commands of this account do not find this server: %s: %s", folder, error.strerror)

    def withdraw(self) -> None:
        """Be found no more."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, document: bytes) -> None:
        # Locked and complete before it gets its name: who sees the file never takes a living server for a dead one.
        aside = self._path.with_suffix(".aside")
        self._file = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(self._file, document)
        aside.rename(self._path)


def _remove_dead(folder: Path) -> None:
    """Take away what servers have left that were killed."""
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
