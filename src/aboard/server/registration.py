# SPDX-License-Identifier: Apache-2.0
"""Files by which commands of the same account find running servers.

The default server holds `running.lock` while it lives; `server.json` has its address and token, and only its owner can
read it. It follows stores added at runtime again after a restart. A server with another catalog has a file below
`server/elsewhere` with the same content. The process holds a lock on that file, which ends with the process, so a file
without a lock belongs to a server that is gone.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from aboard import __version__
from aboard.config.credentials import fingerprints
from aboard.config.home import home_hint
from aboard.errors import Conflict, StorageUnavailable
from aboard.foundation.files import make_private_folder
from aboard.foundation.locks import LockHeld, ProcessLock, lock_descriptor
from aboard.model.times import now, time_text

_TRIES = 20
_PAUSE_SECONDS = 0.1


class Registration:
    """The files of a server below the home folder of its person."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "server"
        self._address = self._folder / "server.json"
        self._stores = self._folder / "stores.json"
        self._writing = threading.Lock()
        try:
            make_private_folder(self._folder)
            self._lock = self._take()
        except OSError as error:
            message = f"{self._folder} cannot be written: {error.strerror}."
            raise StorageUnavailable(message, hint=home_hint(error)) from error

    def publish(self, url: str, token: str) -> None:
        """Let programs know where the server is, and whether it has their credentials for clouds."""
        salt = secrets.token_hex(16)
        document = {
            "format": "aboard-server",
            "version": [1, 0],
            "url": url,
            "token": token,
            "pid": os.getpid(),
            "aboard": __version__,
            "started": time_text(now()),
            "credentials": {"salt": salt, **fingerprints(os.environ, salt)},
        }
        self._write(self._address, document)

    def is_published(self) -> bool:
        """Whether programs can still find this server."""
        try:
            document: object = json.loads(self._address.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(document, dict) and cast("dict[str, object]", document).get("pid") == os.getpid()

    def stores(self) -> list[str]:
        """Stores that were named before."""
        try:
            document: object = json.loads(self._stores.read_text("utf-8"))
        except (OSError, ValueError):
            return []
        uris = cast("dict[str, object]", document).get("stores") if isinstance(document, dict) else None
        return [str(uri) for uri in cast("list[object]", uris)] if isinstance(uris, list) else []

    def remember(self, uri: str) -> None:
        """Follow a store the next time, too."""
        with self._writing:
            known = self.stores()
            if uri not in known:
                document = {"format": "aboard-stores", "version": [1, 0], "stores": [*known, uri]}
                self._write(self._stores, document)

    def withdraw(self) -> None:
        """Be found no more."""
        with contextlib.suppress(OSError):
            self._address.unlink()
        self._lock.release()

    def _take(self) -> ProcessLock:
        # Whoever looks whether the lock is free holds it for a moment.
        holder = ""
        for tries_left in reversed(range(_TRIES)):
            try:
                return ProcessLock(self._folder / "running.lock")
            except LockHeld as held:
                holder = held.holder
            if tries_left:
                time.sleep(_PAUSE_SECONDS)
        raise Conflict(
            f"a server of {self._folder.parent} is running already, process {holder or 'unknown'}",
            hint="use that one, end it, or give this one a catalog of its own with --catalog",
        )

    def _write(self, path: Path, document: Mapping[str, object]) -> None:
        aside = path.with_name(f"{path.name}.{os.getpid()}.aside")
        try:
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as stream:
                json.dump(document, stream)
            aside.replace(path)
        except OSError as error:
            raise StorageUnavailable(f"{path} cannot be written: {error.strerror}") from error


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
        lock_descriptor(self._file)
        os.write(self._file, document)
        aside.rename(self._path)


def _remove_dead(folder: Path) -> None:
    """Take away what servers have left that were killed."""
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            lock_descriptor(file.fileno())
            path.unlink()


def process_owner() -> str:
    """Name of the user that runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
