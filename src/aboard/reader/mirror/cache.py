# SPDX-License-Identifier: Apache-2.0
"""The folder below which copies of stores lie: one for each URI and process that reads it, of a limited size in all.

A process holds a lock on the folder it uses; a second one that reads the same URI at the same time has a copy of its
own. What nobody uses is dropped first when space is needed, what was not used for longest before all else.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
from pathlib import Path

from aboard.foundation.files import make_private_folder
from aboard.foundation.locks import lock_descriptor
from aboard.reader.mirror.copies import CopyFolder

_LOG = logging.getLogger("aboard.reader")
_FORMAT = "v1"
_LIMIT = 4 << 30
_SHARE_OF_FREE_SPACE = 2  # half of it may be taken
_MOST_AT_ONCE = 64  # copies of one URI


class CopyCache:
    """Copies of stores on this machine. Nothing in it is needed: what is missing is fetched again."""

    def __init__(self, folder: Path, limit: int = _LIMIT) -> None:
        self._folder = folder / _FORMAT
        self.limit = limit

    @classmethod
    def default(cls) -> CopyCache:
        """That of the person who runs this, with the size that the settings allow."""
        from aboard.config.settings import load_settings

        settings = load_settings()
        return cls(settings.home / "cache" / "stores", settings.cache_limit)

    def take(self, uri: str) -> CopyFolder:
        """A folder for the copy of a store, which nobody else uses until it is closed."""
        digest = hashlib.sha256(uri.encode()).hexdigest()[:24]
        try:
            make_private_folder(self._folder)
            for number in range(_MOST_AT_ONCE):
                place = self._folder / f"{digest}.{number}"
                place.mkdir(mode=0o700, exist_ok=True)
                lock = _locked(place)
                if lock is not None:
                    return CopyFolder(place, lock, uri)
        except OSError as error:
            _LOG.warning("No copies are kept in %s: %s. They are made anew each time.", self._folder, error)
        place = Path(tempfile.mkdtemp(prefix="aboard-copies-"))
        return CopyFolder(place, _locked(place) or -1, uri, temporary=True)

    def allowed(self, using: CopyFolder, used: int) -> int:
        """How many bytes a copy may take that takes `used` of them now; makes room by dropping what nobody uses."""
        try:
            free = shutil.disk_usage(using.tree).free
        except OSError:
            free = self.limit
        allowed = min(self.limit, (free + used) // _SHARE_OF_FREE_SPACE)
        others = sorted(self._others(using), key=_last_used)
        sizes = {place: _size(place) for place in others}
        for place in others:
            if used + sum(sizes.values()) <= allowed:
                break
            if _dropped(place):
                del sizes[place]
        return max(allowed - sum(sizes.values()), 0)

    def _others(self, using: CopyFolder) -> list[Path]:
        try:
            return [place for place in self._folder.iterdir() if place.is_dir() and place != using.place]
        except OSError:
            return []


def _locked(place: Path) -> int | None:
    lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        lock_descriptor(lock)
    except OSError:
        os.close(lock)
        return None
    os.utime(place / "lock")
    return lock


def _last_used(place: Path) -> float:
    with contextlib.suppress(OSError):
        return (place / "lock").stat().st_mtime
    return 0.0


def _size(place: Path) -> int:
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(folder, name).lstat().st_blocks * 512
    return total


def _dropped(place: Path) -> bool:
    """Delete a copy, unless somebody uses it."""
    with contextlib.suppress(OSError):
        lock = _locked(place)
        if lock is not None:
            shutil.rmtree(place, ignore_errors=True)
            os.close(lock)
            return True
    return False
