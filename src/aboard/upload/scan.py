# SPDX-License-Identifier: Apache-2.0
"""The folder of a run on the training machine, and the files found in it.

Symbolic links that stay inside their folder are listed as links, because their targets are found under their own names;
links that lead out are not followed. Pipes and sockets are skipped. A file that cannot be read is reported and stops
nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.events.event import is_board_file, is_event_file
from aboard.foundation.files import ASIDE_PREFIX, written_aside
from aboard.model.names import check_uid
from aboard.model.runs import RunRecord
from aboard.store.run.documents import AttemptClaim, parse_claim, parse_run, render_claim, render_run
from aboard.store.run.layout import LOG, OUTPUT, WATCH


def _everything(_: Path) -> bool:
    return True


@dataclass(frozen=True)
class WatchedFolder:
    """A folder elsewhere whose event files belong to the run."""

    name: str
    folder: Path
    accept: Callable[[Path], bool] = _everything
    """Which files are those of the run, where others write into the same folder."""

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or self.name in {".", ".."}:
            raise InvalidValue(f"{self.name!r} cannot be the name of a watched folder.", hint="Use a plain name.")


@dataclass(frozen=True)
class Spool:
    """Where the files of a run are. `folder` also keeps its documents and journals."""

    folder: Path
    uid: str
    output: Path
    log: Path | None = None
    watched: tuple[WatchedFolder, ...] = field(default=())

    def __post_init__(self) -> None:
        check_uid(self.uid)

    @classmethod
    def at(cls, folder: str | os.PathLike[str], *, watched: tuple[WatchedFolder, ...] = ()) -> Spool:
        """The usual layout, in a folder that is named by the uid of the run."""
        path = Path(folder).absolute()
        return cls(path, path.name, path / "output", path / "log", watched)

    def journal(self, name: str) -> Path:
        """The journal of one destination."""
        return self.folder / f"{name}.json"

    def read_run(self) -> RunRecord | None:
        """`run.json` as it will stand in the store, if it was written here."""
        data = self._read("run.json")
        return None if data is None else parse_run(data, str(self.folder / "run.json"))

    def write_run(self, run: RunRecord) -> None:
        """Keep `run.json` until a store can be reached."""
        self._write("run.json", render_run(run))

    def read_attempt(self) -> AttemptClaim | None:
        """The claim of the newest attempt on this machine."""
        data = self._read("attempt.json")
        return None if data is None else parse_claim(data, str(self.folder / "attempt.json"))

    def write_attempt(self, claim: AttemptClaim) -> None:
        """Keep the claim, with which shipping can be taken up again."""
        self._write("attempt.json", render_claim(claim))

    def _read(self, name: str) -> bytes | None:
        path = self.folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageUnavailable(f"{path} cannot be read: {error.strerror}.") from None

    def _write(self, name: str, data: bytes) -> None:
        with written_aside(self.folder / name) as file:
            file.write(data)


Kind = Literal["events", "log", "output", "link"]


class Identity(NamedTuple):
    """Two equal ones: nobody has written in between."""

    device: int
    inode: int
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class LocalFile:
    source: str
    """Its place below the folder of the run; see `aboard.store.run.layout`."""
    path: Path
    kind: Kind
    identity: Identity
    link: str = ""

    @property
    def modified(self) -> float:
        return self.identity.modified_ns / 1e9


@dataclass
class Scan:
    files: list[LocalFile] = field(default_factory=list[LocalFile])
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """By path: why it is not shipped."""
    has_output: bool = False
    """Whether the output folder was there: if not, nothing can be said about what is missing in it."""


def scan(spool: Spool) -> Scan:
    result = Scan()
    result.has_output = _walk(result, spool.output, OUTPUT)
    if spool.log is not None:
        _walk(result, spool.log, LOG)
    for watched in spool.watched:
        found = Scan()
        _walk(found, watched.folder, f"{WATCH}/{watched.name}")
        result.problems |= found.problems
        result.files += [one for one in found.files if _is_for_boards(one) and watched.accept(one.path)]
    return result


def _is_for_boards(found: LocalFile) -> bool:
    """Of a folder elsewhere, which may hold anything, only this is taken."""
    return found.kind == "events" or (found.kind == "output" and is_board_file(found.source))


def identity_of(state: os.stat_result) -> Identity:
    """What tells one state of a file from the next."""
    return Identity(state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


def _walk(result: Scan, root: Path, top: str) -> bool:
    """Add what is below a folder; whether the folder was there."""
    try:
        within = os.path.realpath(root)
        for entry, source in _entries(within, top, result):
            if found := _listed(entry, source, within, result):
                result.files.append(found)
    except FileNotFoundError:
        return False
    except OSError as error:
        result.problems[str(root)] = f"The folder cannot be read: {error.strerror}."
        return False
    return True


def _listed(entry: os.DirEntry[str], source: str, root: str, result: Scan) -> LocalFile | None:
    try:
        return _link(entry, source, root, result) if entry.is_symlink() else _file(entry, source)
    except FileNotFoundError:
        return None  # deleted meanwhile
    except OSError as error:
        result.problems[entry.path] = f"The file cannot be read: {error.strerror}."
        return None


def _entries(folder: str, source: str, result: Scan) -> Iterator[tuple[os.DirEntry[str], str]]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        if entry.name.startswith(ASIDE_PREFIX):
            continue
        below = f"{source}/{entry.name}"
        if entry.is_symlink() or not entry.is_dir(follow_symlinks=False):
            yield entry, below
            continue
        try:
            yield from _entries(entry.path, below, result)
        except FileNotFoundError:
            continue  # deleted meanwhile
        except OSError as error:
            result.problems[entry.path] = f"The folder cannot be read: {error.strerror}."


def _file(entry: os.DirEntry[str], source: str) -> LocalFile | None:
    if not entry.is_file(follow_symlinks=False):
        return None
    identity = identity_of(entry.stat(follow_symlinks=False))
    is_log = source.startswith(f"{LOG}/")
    kind: Kind = "events" if is_event_file(entry.name) else "log" if is_log else "output"
    return LocalFile(source, Path(entry.path), kind, identity)


def _link(entry: os.DirEntry[str], source: str, root: str, result: Scan) -> LocalFile | None:
    """A link inside the output folder, with its target made relative."""
    target = os.path.realpath(entry.path)
    if not os.path.lexists(target) or not source.startswith(f"{OUTPUT}/"):
        return None
    if os.path.commonpath([root, target]) != root or target == root:
        result.problems[entry.path] = f"The link leads out of the output folder, to {target}, and is not followed."
        return None
    link = os.path.relpath(target, Path(entry.path).parent)
    try:
        link.encode()
    except UnicodeEncodeError:
        result.problems[entry.path] = "The link points to a name that is not valid Unicode."
        return None
    return LocalFile(source, Path(entry.path), "link", identity_of(entry.stat(follow_symlinks=False)), link)
