# SPDX-License-Identifier: Apache-2.0
"""An output file that appears under its name when it is whole, and not at all when something fails."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from aboard.errors import InvalidValue, StorageUnavailable


@contextlib.contextmanager
def whole_file(output: str, *, force: bool) -> Generator[BinaryIO]:
    """A file to write to. It is written aside and gets its name at the end; what is there is replaced only by force.

    A pipe or a device is written as it stands: there is nothing to keep.
    """
    path = Path(output)
    try:
        check_output(output, force=force)
        kind = _kind_of(path)
        if _is_stream(kind):
            with path.open("wb") as file:
                yield file
            return
        # Where the output is a link, what it leads to is replaced and not the link.
        with _written_aside(path.resolve(), kind, force=force) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, StorageUnavailable):
            raise
        raise _cannot_write(output, error) from error


def check_output(output: str, *, force: bool) -> None:
    """Raise what can be known before anything is written, so that nobody waits for it."""
    path = Path(output)
    try:
        kind = _kind_of(path)
        has_folder = path.resolve().parent.is_dir()
    except OSError as error:
        raise _cannot_write(output, error) from error
    if kind is not None and stat.S_ISDIR(kind):
        raise InvalidValue(f"{output!r} is a folder", hint="give the name of a file")
    if kind is not None and stat.S_ISREG(kind) and not force:
        raise _exists(path)
    if not has_folder:
        raise InvalidValue(f"there is no folder {str(path.parent)!r} for {path.name!r}", hint="make it, then try again")


def _kind_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_stream(kind: int | None) -> bool:
    return kind is not None and not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def _cannot_write(output: str, error: OSError) -> StorageUnavailable:
    hint = "Name a file in a folder that you can write to." if isinstance(error, PermissionError) else ""
    return StorageUnavailable(f"{output!r} cannot be written: {error.strerror or error}", hint=hint)


def _exists(path: Path) -> InvalidValue:
    return InvalidValue(f"{str(path)!r} exists", hint="give another name, or --force to replace it")


@contextlib.contextmanager
def _written_aside(path: Path, mode: int | None, *, force: bool) -> Generator[BinaryIO]:
    aside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with aside.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        _give_name(aside, path, force=force)
    finally:
        aside.unlink(missing_ok=True)


def _give_name(aside: Path, path: Path, *, force: bool) -> None:
    if force:
        aside.replace(path)
        return
    try:
        # A link fails where the name is taken: also by somebody who was quicker than this export.
        path.hardlink_to(aside)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        # A file system without links.
        if path.exists():
            raise _exists(path) from None
        aside.replace(path)
