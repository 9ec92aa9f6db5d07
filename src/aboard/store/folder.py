# SPDX-License-Identifier: Apache-2.0
"""A store in a plain folder; keys are paths, so that every tool can read what is kept there.

Guarantees, also for writers on several machines over NFS:
- An overwrite writes aside in the same folder and renames; readers see the old content or the new.
- A create-only put links the finished file to its name. Where the file system has no hard links, the name is taken
first (O_EXCL) and filled afterwards: still one winner, but readers may see the file grow.
- Bytes are forced to the disk before a name points at them, and the name before a put returns; appends likewise. With
`fsync=False` the system decides when: faster, and a power failure may lose the last seconds.
- The etag is inode, time and size. A put sets the time from the clock in nanoseconds, because the kernel's own time
stamps advance in steps of milliseconds and two quick overwrites could look the same.
- Keys are listed in their own order, which is not the order of file names: `a-b` comes before `a/b`.
- Symbolic links are neither followed nor listed. Files that a killed process left half-written stay aside under names
beginning with `.aboard-aside-`; nobody reads them.
- An error of the operating system becomes a `StoreError` with the next step.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from aboard.errors import (
    AboardError,
    AccessDenied,
    InvalidValue,
    KeyExists,
    KeyNotFound,
    NoSuchStore,
    PositionMismatch,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from aboard.foundation.files import (
    LinkFound,
    aside_name,
    open_at,
    open_source,
    opened_file,
    opened_folder,
    read_all,
    write_all,
)
from aboard.foundation.locks import lock_descriptor
from aboard.store.store import ByteRange, FetchedObject, ObjectInfo, Store
from aboard.store.uri import check_key, join_key

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


class _ListedEntry(NamedTuple):
    order: str
    """The name, with a slash at its end if it is a folder: sorting by this is sorting by keys."""
    name: str
    is_folder: bool
    state: os.stat_result | None


def list_files(root: Path, folder: str, start_after: str) -> Iterator[tuple[str, os.stat_result]]:
    """Keys and states of all files below `folder` that come after `start_after`."""
    for found in _read(root, folder):
        key = join_key(folder, found.name)
        if found.state is not None:
            if key > start_after:
                yield key, found.state
        elif f"{key}/" > start_after or start_after.startswith(f"{key}/"):
            yield from list_files(root, key, start_after)


def list_subfolders(root: Path, folder: str, start_after: str) -> Iterator[str]:
    """Names of the folders directly in `folder`."""
    for found in _read(root, folder):
        if found.is_folder and (not start_after or found.order > f"{start_after}/"):
            yield found.name


def _read(root: Path, folder: str) -> list[_ListedEntry]:
    """What is in one folder, sorted; a missing folder is empty, as in a bucket."""
    try:
        with opened_folder(root, folder) as descriptor, os.scandir(descriptor) as entries:
            return sorted(filter(None, map(_listed_entry, entries)))
    except (FileNotFoundError, NotADirectoryError):
        check_root(root)
        return []


def _listed_entry(entry: os.DirEntry[str]) -> _ListedEntry | None:
    """Nothing for links, pipes, files being written, and names that are no keys."""
    try:
        check_key(entry.name)
        if entry.is_dir(follow_symlinks=False):
            return _ListedEntry(f"{entry.name}/", entry.name, True, None)
        if entry.is_file(follow_symlinks=False):
            return _ListedEntry(entry.name, entry.name, False, entry.stat(follow_symlinks=False))
    except (InvalidValue, FileNotFoundError):  # the second: deleted meanwhile
        pass
    return None


PIECE_BYTES = 1 << 20
LOCK_SECONDS = 5
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
_NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_Result = TypeVar("_Result")


class FolderStore(Store):
    """Bytes in files below one folder."""

    can_append: ClassVar[bool] = True

    def __init__(self, uri: str, root: Path, *, read_only: bool, create: bool, fsync: bool) -> None:
        super().__init__(uri, read_only=read_only)
        self.root = root
        self._fsync = fsync
        if create and not read_only:
            with store_errors(root, "", "write"), contextlib.suppress(FileExistsError):
                root.mkdir(parents=True)

    def check(self) -> None:
        check_root(self.root)
        super().check()

    def _put_bytes(self, key: str, data: bytes, *, create_only: bool) -> str:
        return self._put(key, iter([data]), create_only=create_only)

    def _put_file(self, key: str, path: Path, *, create_only: bool) -> str:
        with open_source(path, key) as source:
            return self._put(key, iter(lambda: source.read(PIECE_BYTES), b""), create_only=create_only)

    def _put(self, key: str, pieces: Iterator[bytes], *, create_only: bool) -> str:
        with store_errors(self.root, key, "write"):
            etag, size = self._in_folder(key, lambda folder, name: self._place(folder, name, pieces, create_only))
        self.traffic.add("put", bytes_out=size)
        return etag

    def _put_stream(self, key: str, pieces: Iterator[bytes], size: int) -> str:
        folder, _, name = key.rpartition("/")
        check_root(self.root)
        # No second try as elsewhere: what was read from a stream does not come again.
        with store_errors(self.root, key, "write"), opened_folder(self.root, folder, create=True) as within:
            etag, written = self._place(within, name, pieces, create_only=False)
        self.traffic.add("put", bytes_out=written)
        return etag

    def _place(self, folder: int, name: str, pieces: Iterator[bytes], create_only: bool) -> tuple[str, int]:
        aside = aside_name()
        file = open_at(aside, folder, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            size = _copy(pieces, file)
            self._finish(file)
            if not create_only:
                os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif not _link(aside, name, folder, file):
                return self._fill(folder, name, file, size), size
            self._force(folder)
            return _etag(os.fstat(file)), size
        finally:
            os.close(file)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(aside, dir_fd=folder)

    def _fill(self, folder: int, name: str, source: int, size: int) -> str:
        """Take a name that must be free, and copy the content there."""
        target = open_at(name, folder, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            starts = range(0, size, PIECE_BYTES)
            _copy((read_all(source, start, PIECE_BYTES) for start in starts), target)
            self._finish(target)
            self._force(folder)
            return _etag(os.fstat(target))
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(target)

    def _finish(self, file: int) -> None:
        now = time.time_ns()
        os.utime(file, ns=(now, now))
        self._force(file)

    def _append(self, key: str, data: bytes, position: int) -> int:
        with store_errors(self.root, key, "write"):
            size = self._in_folder(key, lambda folder, name: self._extend(folder, name, key, data, position))
        self.traffic.add("append", bytes_out=len(data))
        return size

    def _extend(self, folder: int, name: str, key: str, data: bytes, position: int) -> int:
        try:
            descriptor = open_at(name, folder, os.O_WRONLY | (os.O_CREAT if position == 0 else 0))
        except FileNotFoundError:
            raise PositionMismatch(f"{key} does not exist, so nothing can follow byte {position}.", size=0) from None
        try:
            _lock(descriptor, key)
            size = os.fstat(descriptor).st_size
            if size != position:
                raise PositionMismatch(f"{key} ends at byte {size}, not at {position}; nothing was written.", size=size)
            try:
                write_all(descriptor, data, position)
            except OSError:
                os.ftruncate(descriptor, position)  # half an append would refuse its own repetition
                raise
            self._force(descriptor)
            if position == 0:
                self._force(folder)
            return position + len(data)
        finally:
            os.close(descriptor)

    def _get(self, key: str) -> FetchedObject:
        with store_errors(self.root, key, "read"), opened_file(self.root, key) as (file, state):
            data = read_all(file, 0, state.st_size)
        self.traffic.add("get", bytes_in=len(data))
        return FetchedObject(data, _etag(state))

    def _get_if_changed(self, key: str, etag: str) -> FetchedObject | None:
        with store_errors(self.root, key, "read"), opened_file(self.root, key) as (file, state):
            data = None if _etag(state) == etag else read_all(file, 0, state.st_size)
        self.traffic.add("get", bytes_in=len(data or b""))
        return None if data is None else FetchedObject(data, _etag(state))

    def _get_range(self, key: str, wanted: ByteRange) -> bytes:
        return self._get_ranges(key, [wanted])[0]

    def _get_ranges(self, key: str, wanted: Sequence[ByteRange]) -> Sequence[bytes]:
        with store_errors(self.root, key, "read"), opened_file(self.root, key) as (file, _):
            pieces = [read_all(file, one.start, one.length) for one in wanted]
        self.traffic.add("get", len(wanted), bytes_in=sum(map(len, pieces)))
        return pieces

    def _stream(self, key: str) -> Iterator[bytes]:
        self.traffic.add("get")
        with store_errors(self.root, key, "read"), opened_file(self.root, key) as (file, state):
            for start in range(0, state.st_size, PIECE_BYTES):
                piece = read_all(file, start, min(PIECE_BYTES, state.st_size - start))
                self.traffic.add("get", 0, bytes_in=len(piece))
                yield piece

    def _head(self, key: str) -> ObjectInfo:
        self.traffic.add("head")
        folder, _, name = key.rpartition("/")
        with store_errors(self.root, key, "read"), opened_folder(self.root, folder) as within:
            state = os.stat(name, dir_fd=within, follow_symlinks=False)
            if not stat.S_ISREG(state.st_mode):
                raise IsADirectoryError(errno.EISDIR, "not a file")
        return _entry(key, state)

    def _list(self, folder: str, start_after: str) -> Iterator[ObjectInfo]:
        self.traffic.add("list")
        with store_errors(self.root, folder, "list"):
            for key, state in list_files(self.root, folder, start_after):
                yield _entry(key, state)

    def _list_folders(self, folder: str, start_after: str) -> Iterator[str]:
        self.traffic.add("list")
        with store_errors(self.root, folder, "list"):
            yield from list_subfolders(self.root, folder, start_after)

    def _delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.traffic.add("delete")
            folder, _, name = key.rpartition("/")
            with store_errors(self.root, key, "delete"), contextlib.suppress(*_NOT_THERE):
                check_root(self.root)
                with opened_folder(self.root, folder) as within:
                    os.unlink(name, dir_fd=within)
                self._drop_empty(folder)

    def _drop_empty(self, folder: str) -> None:
        """As in a bucket, a folder is there as long as something is in it."""
        while folder:
            folder, _, name = folder.rpartition("/")
            try:
                with opened_folder(self.root, folder) as within:
                    os.rmdir(name, dir_fd=within)
            except OSError:
                return

    def _in_folder(self, key: str, act: Callable[[int, str], _Result]) -> _Result:
        """Act in the folder of a key; a folder that a deletion took away under us is made once more."""
        folder, _, name = key.rpartition("/")
        for _ in range(3):
            with contextlib.suppress(FileNotFoundError), opened_folder(self.root, folder, create=True) as within:
                return act(within, name)
            check_root(self.root)
        raise FileNotFoundError(errno.ENOENT, "the folder vanishes again and again")

    def _force(self, descriptor: int) -> None:
        if self._fsync:
            os.fsync(descriptor)


def _copy(pieces: Iterator[bytes], descriptor: int) -> int:
    position = 0
    for piece in pieces:
        write_all(descriptor, piece, position)
        position += len(piece)
    return position


def _link(aside: str, name: str, folder: int, descriptor: int) -> bool:
    """Give the file its name if nobody has it; False where the file system cannot."""
    try:
        os.link(aside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        # NFS may repeat a link whose answer was lost, and then refuses what it has done itself.
        if os.fstat(descriptor).st_nlink < 2:
            raise
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def _lock(descriptor: int, key: str) -> None:
    """Keep other appenders out until the descriptor is closed; where there are no locks, the check must do."""
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return lock_descriptor(descriptor)
        except BlockingIOError:
            if time.monotonic() > end:
                raise StoreUnreachable(f"{key}: another process has been appending for {LOCK_SECONDS} s.") from None
            time.sleep(0.01)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return None


def _etag(state: os.stat_result) -> str:
    return f"{state.st_ino:x}-{state.st_mtime_ns:x}-{state.st_size:x}"


def _entry(key: str, state: os.stat_result) -> ObjectInfo:
    return ObjectInfo(key, state.st_size, state.st_mtime_ns / 1e9, _etag(state))
