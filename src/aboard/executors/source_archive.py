# SPDX-License-Identifier: Apache-2.0
"""A source folder as a tar file: without what git ignores, and not larger than anybody can mean."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tarfile
from collections.abc import Generator
from pathlib import Path

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.foundation.file_systems import may_be_work_tree

SOURCE_LIMIT = 200 << 20
_NEVER = frozenset(
    {".git", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
_LARGEST_SHOWN = 3


def source_archive(folder: str, *, below: str, limit: int = SOURCE_LIMIT) -> bytes:
    """The files of `folder` as a tar file in which they stand below `below`. Owners and users are not kept."""
    root = Path(folder)
    files = source_files(root, limit)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(_folder_entry(below))
        for path in files:
            with _reading(root / path):
                archive.add(root / path, arcname=f"{below}/{path}", recursive=False, filter=_without_owner)
    return packed.getvalue()


def source_files(root: Path, limit: int = SOURCE_LIMIT) -> list[str]:
    """The files that belong to a source folder, relative to it: in a git work tree those that git does not ignore."""
    if not root.is_dir():
        raise InvalidValue(f"there is no source folder {str(root)!r}", hint="give one that is there")
    files = _git_files(root)
    if files is None:
        files = _all_files(root)
    sizes = {path: _size(root / path) for path in files}
    total = sum(sizes.values())
    if total > limit:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:_LARGEST_SHOWN]
        shown = ", ".join(f"{path} ({sizes[path] >> 20} MB)" for path in largest)
        hint = f"the largest files: {shown}; have git ignore what is data, or keep it elsewhere"
        raise InvalidValue(f"{root} has {total >> 20} MB to send; at most {limit >> 20} MB go along", hint=hint)
    return files


def _git_files(root: Path) -> list[str] | None:
    """None where there is no git or no work tree."""
    if not may_be_work_tree(root):
        return None
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        told = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    if told.returncode != 0:
        return None
    names = (os.fsdecode(name) for name in told.stdout.split(b"\0") if name)
    # A file that was deleted but not committed as such is still listed; a submodule is a folder.
    return sorted({name for name in names if os.path.lexists(root / name) and not _is_plain_folder(root / name)})


def _is_plain_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _all_files(root: Path) -> list[str]:
    found: list[str] = []
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NEVER]
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        found += [os.path.relpath(Path(place) / name, root) for name in (*files, *links)]
    return sorted(found)


def _size(path: Path) -> int:
    with _reading(path):
        return path.lstat().st_size


@contextlib.contextmanager
def _reading(path: Path) -> Generator[None]:
    """A file that others may have written for themselves, or remove meanwhile, is told by its name."""
    try:
        yield
    except OSError as error:
        hint = "have git ignore it, make it readable, or submit again if it has only just gone"
        raise StorageUnavailable(f"{path} cannot go along: {error.strerror or error}", hint=hint) from error


def _folder_entry(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    return entry


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
