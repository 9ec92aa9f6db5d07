# SPDX-License-Identifier: Apache-2.0
"""Log folders that are URIs, in the training process: files grow in a folder of this machine, a helper ships them.

All such folders of one process, and of the children that it forks, share one spool and one helper. Nothing here waits
for a network but `settle`, and that for a limited time.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from aboard.config.settings import load_settings
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.foundation.files import make_private_folder
from aboard.model.names import new_uid
from aboard.run.spool import (
    FOLDER,
    LOG_FORMAT,
    OUTPUT,
    PROGRESS,
    START,
    TENSORBOARD,
    FactLog,
    read_json,
    spools_of,
    write_json,
)
from aboard.run.training.starting import MISSING_SECONDS, is_gone, start_helper, this_process
from aboard.store.uri import SCHEMES, StoreAddress, parse_uri
from aboard.writer.lifecycle import renew_in_child

_log = logging.getLogger("aboard.writer")
_LOOK_SECONDS = 0.05
_WATCH_SECONDS = 2.0
_IMPATIENT_SECONDS = 1.0  # once waiting was in vain: the end of a process must not take this times its writers


@dataclass(frozen=True)
class RemoteLogFolder:
    """A folder on this machine whose files are shipped."""

    logs: RemoteLogs | None
    """None where the URI names a folder of this machine, and nothing needs to be shipped."""
    uid: str
    local: Path

    @property
    def mark(self) -> str:
        """Goes into the names of event files."""
        return f".{self.uid[-12:].lower()}" if self.logs else ""

    def settle(self, timeout: float) -> str:
        """Wait until all files are in the store; what is left after `timeout` seconds, in words."""
        return self.logs.settle(self.uid, timeout) if self.logs else ""


class RemoteLogs:
    """The log folders of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spool: Path | None = None
        self._by_uri: dict[str, tuple[str, Path]] = {}
        self._tokens = itertools.count(1)
        self._is_out_of_patience = False
        self._told: dict[str, str] = {}
        self._asked: dict[str, object] = {}
        renew_in_child(self)

    def become_child(self) -> None:
        """Go on in the same folders, of which the helper must know until this process ends, too."""
        self._lock = threading.Lock()
        if self._spool is not None:
            try:
                FactLog(self._spool).append("process", **this_process())
            except OSError as error:
                _log.warning("%s cannot be written: %s", self._spool, error.strerror)

    def folder(self, uri: str) -> RemoteLogFolder:
        """The folder of a URI; that of a URI within a known one is below the known one."""
        address = _address(uri)
        if address.path is not None:
            return RemoteLogFolder(None, "", address.path)
        with self._lock:
            for known, (uid, local) in self._by_uri.items():
                if address.uri == known or address.uri.startswith(f"{known}/"):
                    return RemoteLogFolder(self, uid, local / address.uri[len(known) + 1 :])
            uid, local = self._by_uri[address.uri] = self._begin(address.uri)
            return RemoteLogFolder(self, uid, local)

    def settle(self, uid: str, timeout: float) -> str:
        """Ask the helper to ship a folder now, and wait for its answer; once for one state of its files."""
        spool = self._spool
        assert spool is not None
        files = _files_below(spool / uid / OUTPUT)
        if self._asked.get(uid) == files:
            return ""
        self._asked[uid] = files
        token = f"{os.getpid()}-{next(self._tokens)}"
        limit = min(timeout, _IMPATIENT_SECONDS) if self._is_out_of_patience else timeout
        try:
            FactLog(spool).append("flush", folder=uid, token=token)
            is_settled = self._wait(spool, uid, token, limit)
        except OSError as error:
            return f"{spool} cannot be written: {error.strerror}. {_later(spool)}"
        self._is_out_of_patience = not is_settled
        if is_settled:
            return ""
        progress = read_json(spool / uid / PROGRESS)
        left = progress.get("error") or progress.get("text") or "nothing was shipped yet"
        return f"After {limit:g} s not everything is in {self._uri_of(uid)}: {left} {_later(spool)}"

    def _wait(self, spool: Path, uid: str, token: str, limit: float) -> bool:
        """Whether the helper answered in time; one that was killed is replaced."""
        begun = may_replace_at = time.monotonic()
        end = begun + limit
        while True:
            tokens = read_json(spool / uid / PROGRESS).get("settled")
            if isinstance(tokens, list) and token in tokens:
                return True
            now = time.monotonic()
            if now >= end:
                return False
            if now >= may_replace_at and is_gone(spool, now - begun):
                start_helper(spool)
                may_replace_at = now + 2 * MISSING_SECONDS
            time.sleep(_LOOK_SECONDS)

    def _begin(self, uri: str) -> tuple[str, Path]:
        """Make the folder, and the spool with its helper if this is the first."""
        is_first = self._spool is None
        spool = spools_of(load_settings().home) / new_uid() if self._spool is None else self._spool
        uid = new_uid()
        local = spool / uid / OUTPUT / TENSORBOARD
        try:
            make_private_folder(spool)
            local.mkdir(parents=True)
            if is_first:
                process = this_process()
                write_json(spool / START, {"format": LOG_FORMAT, "version": [1, 0]})
                FactLog(spool).append("process", **process)
            write_json(spool / uid / FOLDER, {"format": "aboard-log-folder", "version": [1, 0], "uri": uri})
            FactLog(spool).append("folder", uid=uid)
        except OSError as error:
            raise StorageUnavailable(
                f"The folder {spool} for files on their way to {uri} cannot be written: {error.strerror}.",
                hint="Set ABOARD_HOME to a folder that can be written.",
            ) from None
        self._spool = spool
        if is_first:
            start_helper(spool)
            threading.Thread(target=self._watch, args=(spool,), name="aboard-remote-logs", daemon=True).start()
        return uid, local

    def _watch(self, spool: Path) -> None:
        """Tell once when the store takes nothing, and replace a helper that was killed."""
        begun = may_replace_at = time.monotonic()
        while spool.exists():
            time.sleep(_WATCH_SECONDS)
            for uri, (uid, _) in list(self._by_uri.items()):
                self._tell(uri, str(read_json(spool / uid / PROGRESS).get("error") or ""))
            now = time.monotonic()
            if now >= may_replace_at and spool.exists() and is_gone(spool, now - begun):
                start_helper(spool)
                may_replace_at = now + 2 * MISSING_SECONDS

    def _tell(self, uri: str, error: str) -> None:
        if error and error != self._told.get(uri):
            place = "" if uri in error else f"{uri}: "
            _log.warning("%s%s Everything is kept here and shipped later (said once)", place, error)
        elif not error and self._told.get(uri):
            _log.warning("%s: the store takes files again", uri)
        self._told[uri] = error

    def _uri_of(self, uid: str) -> str:
        return next((uri for uri, (one, _) in self._by_uri.items() if one == uid), "the store")


def remote_folder(uri: str) -> RemoteLogFolder:
    """The local folder that stands for a URI."""
    return _logs.folder(uri)


def _address(uri: str) -> StoreAddress:
    if "?" in uri:
        raise InvalidValue(
            f"logdir {uri.partition('?')[0]!r} must be a URI without a question mark and what stands behind it",
            hint="put a shared access signature into the environment, as AZURE_STORAGE_SAS_TOKEN",
        )
    scheme = uri.partition("://")[0].lower()
    try:
        address = parse_uri(uri)
    except InvalidValue as error:
        other = "" if scheme in SCHEMES else " For others, call register_writer_factory first."
        shown = f"{scheme}://…" if "@" in uri else uri  # what stands before @ may be a secret
        raise InvalidValue(f"logdir {shown!r} cannot be used: {error.message}", hint=f"{error.hint}{other}") from None
    if address.kind == "memory":
        raise InvalidValue(
            f"logdir {uri!r} is in the memory of one process, and log folders are shipped by another",
            hint="Name a folder, or an s3://, gs://, az:// or oss:// URI.",
        )
    return address


def _files_below(folder: Path) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    for above, _, names in os.walk(folder):
        for name in names:
            path = Path(above, name)
            with contextlib.suppress(OSError):
                state = path.stat()
                found.append((str(path), state.st_size, state.st_mtime_ns))
    return sorted(found)


def _later(spool: Path) -> str:
    return f"Shipping goes on without this process; `aboard sync {spool}` finishes it."


_logs = RemoteLogs()
