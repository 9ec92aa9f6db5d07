# SPDX-License-Identifier: Apache-2.0
"""Tests of permissions that also mean something when root runs them."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NOBODY = 65534


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
