# SPDX-License-Identifier: Apache-2.0
"""Sources of jobs on the machine where they run: unpacked once, shared by jobs that have the same, and not for ever.

Who runs in such a folder holds a shared lock on it, which ends with its process. A folder that nobody holds, and into
which nobody has gone for a week, is removed by whoever goes into another one.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import secrets
import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.foundation.file_systems import network_file_system_of
from aboard.jobs.safe_extraction import extract_below

_UNUSED_SECONDS = 7 * 86400.0
_ASIDE = "."


def enter_unpacked(folder: Path, fetch: Callable[[], bytes]) -> None:
    """Go into the folder, which is made of what `fetch` brings if it is not there; it stays as long as this process."""
    _remove_unused(folder.parent)
    while True:
        if not folder.is_dir():
            _unpack(fetch(), folder)
        if _is_held(folder):
            break
    os.chdir(folder)


def _is_held(folder: Path) -> bool:
    """Hold the folder for good; not if it was taken away in just this moment."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # where nobody can hold it, nobody can remove it either
        fcntl.flock(held, fcntl.LOCK_SH)
    if not _is_still(folder, held):
        os.close(held)
        return False
    with contextlib.suppress(OSError):
        os.utime(held)
    return True


def _is_still(folder: Path, held: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(held))
    except FileNotFoundError:
        return False


def _unpack(packed: bytes, folder: Path) -> None:
    """Whole or not at all: another run of this machine, or of one that shares the folder, may do the same."""
    aside = _aside(folder)
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            extract_below(archive, aside)
        aside.rename(folder)
    except tarfile.TarError as error:
        raise InvalidValue(f"the source of this job is damaged: {error}", hint="submit the job again") from error
    except OSError as error:
        if not folder.is_dir():
            raise StorageUnavailable(f"the source of this job cannot be kept in {folder}: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _remove_unused(sources: Path) -> None:
    if network_file_system_of(sources) or not sources.is_dir():
        return  # whether another machine holds a folder cannot be told everywhere
    for folder in sources.iterdir():
        with contextlib.suppress(OSError):  # it is held, or has just gone, or belongs to somebody else
            if _is_old(folder):
                _remove(folder)


def _is_old(folder: Path) -> bool:
    return folder.is_dir() and time.time() - folder.stat().st_mtime > _UNUSED_SECONDS


def _remove(folder: Path) -> None:
    """Remove a folder that nobody holds; at once for all who look for it under its name."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Somebody may have gone into it, and out again, since its age was looked at.
        if not _is_still(folder, held) or not _is_old(folder):
            return
        aside = folder if folder.name.startswith(_ASIDE) else folder.rename(_aside(folder))
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        os.close(held)


def _aside(folder: Path) -> Path:
    return folder.with_name(f"{_ASIDE}{folder.name}.{secrets.token_hex(8)}")
