# SPDX-License-Identifier: Apache-2.0
"""The folder in which index files make a second opening instant: where they lie, when they are written, which go."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from aboard._native import Logdir, give_back_memory
from aboard.foundation.files import make_private_folder
from aboard.reader.run import absolute_path

_LOG = logging.getLogger("aboard.reader")
_FORMAT = "v1"
_LIMIT = 4 << 30
_SHARE_OF_FREE_SPACE = 10
_WORTH_KEEPING = 64 << 10  # bytes of event files; fewer are read as quickly as an index
_GROWTH_WORTH_KEEPING = 0.25  # so that a growing run is written a few times in all, not again and again
_WRITTEN_BETWEEN_LOOKS = 256 << 20
_KEPT_AFTER_EVICTION = 0.8
_ABANDONED_AFTER = 3600.0  # seconds without a change, of a file that was being written


class IndexCache:
    """Index files of logdirs. Nothing in it is needed: what is missing or unfit is decoded again."""

    def __init__(self, folder: Path, limit: int = _LIMIT) -> None:
        """Keep at most `limit` bytes below `folder`, and never more than a tenth of what is free there."""
        self._folder = folder / _FORMAT
        self._folder_name = str(self._folder)
        self._limit = limit
        self._written_since_look = _WRITTEN_BETWEEN_LOOKS  # what other processes left has to be looked at once
        self._works = True

    @classmethod
    def default(cls) -> IndexCache:
        """The cache of the person who runs this."""
        home = os.environ.get("ABOARD_HOME") or "~/.aboard"
        return cls(Path(home).expanduser() / "cache" / "index")

    def place_of(self, folder: str, file: str | None = None) -> str:
        """Path of the index of a folder, or of one of its files alone. Text, because there may be very many."""
        name = absolute_path(folder) + (b"" if file is None else b"\0" + os.fsencode(file))
        return f"{self._folder_name}/{hashlib.sha256(name).hexdigest()[:32]}"

    def keep(self, logdirs: Iterable[Logdir], *, all_that_is_new: bool = False) -> None:
        """Write the indexes that have fallen far behind; with `all_that_is_new` those that are behind at all.

        Logdirs no longer hold in memory what was written: it is mapped.
        """
        has_written = False
        for logdir in logdirs:
            unsaved = logdir.unsaved_bytes
            enough = unsaved > 0 if all_that_is_new else unsaved >= _GROWTH_WORTH_KEEPING * logdir.saved_bytes
            if not enough or unsaved + logdir.saved_bytes < _WORTH_KEEPING or not self._is_ready():
                continue
            error = logdir.save_index()
            if error:
                self._give_up(OSError(error, os.strerror(error)))
            self._written_since_look += unsaved + logdir.saved_bytes
            has_written = True
        if has_written:
            give_back_memory()
        if self._works and self._written_since_look > _WRITTEN_BETWEEN_LOOKS:
            self._written_since_look = 0
            self._evict()

    def _is_ready(self) -> bool:
        if self._works and not self._folder.is_dir():
            try:
                make_private_folder(self._folder)
            except OSError as error:
                self._give_up(error)
        return self._works

    def _give_up(self, error: OSError) -> None:
        """A cache that cannot be written costs speed, not data: it is said once."""
        self._works = False
        _LOG.warning(
            "No index files are kept in %s: %s. Opening these runs again will take longer.", self._folder, error
        )

    def _evict(self) -> None:
        try:
            with os.scandir(self._folder) as listing:
                found = [(entry.stat(follow_symlinks=False), entry.path) for entry in listing]
            allowed = min(self._limit, shutil.disk_usage(self._folder).free // _SHARE_OF_FREE_SPACE)
        except OSError:
            return  # somebody cleans up at the same time; the next look will do
        used = sum(status.st_size for status, _ in found)
        goal = allowed if used <= allowed else allowed * _KEPT_AFTER_EVICTION
        now = time.time()
        for status, path in sorted(found, key=lambda item: item[0].st_mtime):  # reading an index touches it
            abandoned = path.endswith(".aside") and now - status.st_mtime > _ABANDONED_AFTER
            if used > goal or abandoned:
                Path(path).unlink(missing_ok=True)
                used -= status.st_size
