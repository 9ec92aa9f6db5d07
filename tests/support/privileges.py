# SPDX-License-Identifier: Apache-2.0
"""Tests of permissions that also mean something when root runs them."""

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NOBODY = 65534
_PR_CAPBSET_DROP = 24
_DAC_OVERRIDE, _DAC_READ_SEARCH, _NET_BIND_SERVICE = 1, 2, 10


def as_ordinary_user() -> None:
    """For a process that is about to start (Popen's `preexec_fn`): root loses what an ordinary user may not do.

    It stays root by name, so that it can read its own Python wherever that lies.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for right in (_DAC_OVERRIDE, _DAC_READ_SEARCH, _NET_BIND_SERVICE):
        if libc.prctl(_PR_CAPBSET_DROP, right, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_CAPBSET_DROP)")


@contextlib.contextmanager
def folder_of_an_ordinary_user() -> Iterator[Path]:
    """A folder whose owner this process is for a while; root, who may do everything, becomes nobody meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="aboard-test-", dir="/tmp"))  # below pytest's own folders nobody may go
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, _NOBODY, _NOBODY)
        os.seteuid(_NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o700)
        shutil.rmtree(folder)
