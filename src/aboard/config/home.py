# SPDX-License-Identifier: Apache-2.0
"""The folder for files that belong to this machine only, and hints for a home folder that cannot be written.

The local server and its catalog use this folder. It is the home folder of aboard, unless several machines share that,
as on most clusters: SQLite would lose data there, and the address of a server on one machine means nothing on others.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

from aboard.errors import StorageUnavailable
from aboard.foundation.file_systems import network_file_system_of

_LOCAL = Path("/var/tmp")  # noqa: S108 - below it is a folder of the person's own, which is checked


def machine_folder(home: Path) -> Path:
    """`home` itself, or a folder of this machine that stands for it; readable by its owner alone."""
    if not network_file_system_of(home):
        return home
    own = _LOCAL / f"aboard-{os.getuid()}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError as error:
        raise _unusable(own, error.strerror or str(error)) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise _unusable(own, "others could change or read it")
    return own / hashlib.sha256(os.fsencode(home)).hexdigest()[:16]


def _unusable(folder: Path, why: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"{folder} cannot hold what belongs to this machine: {why}",
        hint="remove it, or set ABOARD_HOME to a folder on a local disk, or ABOARD_SERVER to a server",
    )


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: OSError) -> bool:
    """Whether the disk, or the quota on it, is used up."""
    return error.errno in _FULL


def home_hint(error: OSError) -> str:
    """What to do about it."""
    if is_full(error):
        return "Free some space on that disk, or set ABOARD_HOME to another one."
    return "Set ABOARD_HOME to a folder that you can write to."
