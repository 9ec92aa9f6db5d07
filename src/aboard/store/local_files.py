# SPDX-License-Identifier: Apache-2.0
"""Local files that appear whole: written beside their place, forced to the disk and renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import IO

from aboard.errors import AboardError, StorageUnavailable
from aboard.store.keys import ASIDE_PREFIX


def aside_name() -> str:
    """A name that no other writer has, and that no reader of event files looks at."""
    return f"{ASIDE_PREFIX}{secrets.token_hex(8)}"


@contextlib.contextmanager
def written_aside(path: Path) -> Generator[IO[bytes]]:
    """A file to write that becomes `path` when the block ends well, and vanishes when it does not."""
    aside = path.parent / aside_name()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = aside.open("xb")
    except OSError as error:
        raise StorageUnavailable(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException as error:
        aside.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, AboardError):
            raise StorageUnavailable(f"{path} cannot be written: {error.strerror}.") from None
        raise


def open_source(path: Path, key: str) -> IO[bytes]:
    """A local file that is about to be put under `key`."""
    try:
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        return path.open("rb")
    except OSError as error:
        raise StorageUnavailable(f"{path} cannot be read to put it as {key}: {error.strerror}.") from None
