# SPDX-License-Identifier: Apache-2.0
"""What the operating system says about a file becomes the error of a store, with a next step."""

from __future__ import annotations

import contextlib
import errno
import stat
from collections.abc import Generator
from pathlib import Path

from aboard.errors import (
    AboardError,
    AccessDenied,
    InvalidValue,
    KeyExists,
    KeyNotFound,
    NoSuchStore,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from aboard.folder_files import LinkFound

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNREACHABLE = {errno.ESTALE, errno.EIO, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH}


@contextlib.contextmanager
def store_errors(root: Path, key: str, action: str) -> Generator[None]:
    """Turn what the operating system raises into errors of the store; `action` is read, list, write or delete."""
    try:
        yield
    except AboardError:
        raise
    except OSError as error:
        raise _error(error, root, key, action) from None


def _error(error: OSError, root: Path, key: str, action: str) -> AboardError:
    place = root / key
    if isinstance(error, LinkFound):
        return AccessDenied(
            f"{place}: symbolic links inside a store are not followed, because they may lead out of it.",
            hint="Open the folder that the link points to as a store of its own.",
        )
    if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES} and (problem := _problem_of(root)):
        return problem
    if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EISDIR} and action in {"read", "list"}:
        return KeyNotFound(f"There is no {key} in {root}.")
    if error.errno == errno.EEXIST:
        return KeyExists(f"{key} exists already in {root}.")
    if error.errno in {errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY}:
        return StoreError(f"{place} cannot be written: a file and a folder cannot have the same name.")
    if error.errno in _FORBIDDEN:
        return AccessDenied(f"{place}: no permission to {action}.", hint=f"Ask the owner of {root} for it.")
    if error.errno in _FULL:
        return StoreFull(f"{place} cannot be written: {error.strerror}.", hint="Make room, or name another store.")
    if error.errno in _UNREACHABLE:
        return StoreUnreachable(f"{place}: {error.strerror}.", hint="Is the file system still mounted?")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidValue(f"{place} is too long for this file system.")
    return StoreError(f"{place}: {error.strerror or error}.")


def check_root(root: Path) -> None:
    """Raise unless the folder of the store is there."""
    if problem := _problem_of(root):
        raise problem


def _problem_of(root: Path) -> StoreError | None:
    try:
        if stat.S_ISDIR(root.stat().st_mode):
            return None
        return NoSuchStore(f"{root} is not a folder, so it cannot be a store.", hint="Name the folder that holds it.")
    except PermissionError:
        return AccessDenied(f"{root}: no permission to reach it.", hint="Ask the owner of the folders above for it.")
    except OSError:
        return NoSuchStore(f"There is no folder {root}.", hint="Check the path, or create it with mkdir -p.")
