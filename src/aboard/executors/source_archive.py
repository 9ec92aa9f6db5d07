# SPDX-License-Identifier: Apache-2.0
"""Source folders as tar files: which files belong to one, packing, and unpacking that never leaves its folder.

Files that git ignores are left out, the size is limited, and links that lead out of the folder are refused. Unpacking
does not use Python's own filters: there are none before 3.11.4, and many later versions pass a link whose target is
changed by a link that comes after it.
"""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import shutil
import subprocess
import tarfile
from collections.abc import Generator, Iterable, Iterator
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


_LINKS_SHOWN = 5


def refuse_links_out(folder: Path, names: Iterable[str]) -> None:
    """Refuse a source with such links, and name them."""
    found = list(find_links_out(folder, names))
    if not found:
        return
    shown = ", ".join(f"{name} -> {(folder / name).readlink()}" for name in found[:_LINKS_SHOWN])
    more = f" and {len(found) - _LINKS_SHOWN} more" if len(found) > _LINKS_SHOWN else ""
    hint = "have git ignore them, put what they lead to into the folder, or name its place there in the command"
    raise InvalidValue(f"the source folder {folder} has links that lead out of it: {shown}{more}", hint=hint)


def find_links_out(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Those among the files of a folder that are links and, by the way they name, lead elsewhere."""
    root = Path(os.path.realpath(folder))
    for name in names:
        if not (folder / name).is_symlink():
            continue
        target = (folder / name).readlink()
        by_name = Path(os.path.normpath(Path(name).parent / target))
        if (
            target.is_absolute()
            or by_name.parts[:1] == ("..",)
            or not Path(os.path.realpath(folder / name)).is_relative_to(root)
        ):
            yield name


def extract_below(archive: tarfile.TarFile, folder: str | os.PathLike[str]) -> None:
    """Unpack all of an archive into a folder, which is empty or not there."""
    root, entries = Path(folder), archive.getmembers()
    links = {posixpath.normpath(entry.name): entry for entry in entries if entry.issym()}
    for entry in entries:
        if not _stays_below(entry, links):
            raise _refused_entry(entry)
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Files before all links, so that nothing is ever written through one.
        for entry in entries:
            if not entry.issym():
                _write_entry(archive, entry, root / entry.name)
        _make_links(root, links)
    except OSError as error:
        raise StorageUnavailable(f"the source cannot be unpacked into {root}: {error.strerror}") from error


def _stays_below(entry: tarfile.TarInfo, links: Iterable[str]) -> bool:
    """Whether its name says where it is: no way up, through no link, and itself none unless it is one."""
    if not (entry.isreg() or entry.isdir() or entry.islnk() or entry.issym()):
        return False
    parts = posixpath.normpath(entry.name).split("/")
    passed = {"/".join(parts[:length]) for length in range(1, len(parts) + (0 if entry.issym() else 1))}
    return not posixpath.isabs(entry.name) and ".." not in entry.name.split("/") and passed.isdisjoint(links)


def _write_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo, place: Path) -> None:
    """A folder or file. Of its rights only that it can be executed is kept; it belongs to who unpacks it."""
    if entry.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    try:
        content = archive.extractfile(entry)  # of a hard link, what it is a link to within the archive
    except KeyError:
        content = None
    if content is None:
        raise _refused_entry(entry)
    place.parent.mkdir(parents=True, exist_ok=True)
    with content, place.open("wb") as file:
        shutil.copyfileobj(content, file)
    place.chmod(0o755 if entry.mode & 0o100 else 0o644)
    os.utime(place, (entry.mtime, entry.mtime))


def _make_links(root: Path, links: dict[str, tarfile.TarInfo]) -> None:
    for name, entry in links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(entry.linkname)
    below = os.path.realpath(root)
    # Where a link leads is known only when all the others are there.
    for name, entry in links.items():
        if posixpath.isabs(entry.linkname) or not Path(os.path.realpath(root / name)).is_relative_to(below):
            for each in links:
                (root / each).unlink()
            raise _refused_entry(entry)


def _refused_entry(entry: tarfile.TarInfo) -> InvalidValue:
    hint = "submit the job again from a folder without it"
    return InvalidValue(f"the archive has {entry.name!r}, which does not stay in its folder", hint=hint)
