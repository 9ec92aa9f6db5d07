# SPDX-License-Identifier: Apache-2.0
"""A clean copy of folders with event files: every record that is whole, nothing that is damaged; originals stay.

The copy goes somewhere new, apart from everything it is made of. Links within the folders stay links. Each file
appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aboard._native import FileReport
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.doctor.diagnosis import Diagnosis, Verdict, diagnose
from aboard.exchange.doctor.findings import Finding
from aboard.exchange.doctor.folders import WalkedFolder, walk
from aboard.exchange.doctor.inspection import DAMAGE_CODES, InspectionProgress, Inspectors
from aboard.foundation.text import plain, size

_HINT = "give the name of a new folder, apart from what is to be copied"


def check_destination(out: Path, roots: Mapping[str, Path]) -> None:
    """Refuse a folder that holds anything, or that lies in what is copied or around it."""
    real_out = Path(os.path.realpath(out))
    for root in filter(Path.is_dir, roots.values()):
        source = Path(os.path.realpath(root))
        if real_out.is_relative_to(source):
            raise InvalidValue(f"{str(out)!r} lies in {str(source)!r}, which is to be copied", hint=_HINT)
        if source.is_relative_to(real_out):
            raise InvalidValue(f"{str(out)!r} lies around {str(source)!r}, which is to be copied", hint=_HINT)
    if os.path.lexists(out):
        if not out.is_dir():
            raise InvalidValue(f"{str(out)!r} is there and is no folder", hint=_HINT)
        try:
            holds_something = any(out.iterdir())
        except OSError as error:
            raise StorageUnavailable(f"cannot look into {str(out)!r}: {error.strerror}", hint=_HINT) from error
        if holds_something:
            raise InvalidValue(f"{str(out)!r} is not empty; a copy needs a folder of its own", hint=_HINT)
    _check_names(list(roots))


def _check_names(names: list[str]) -> None:
    """Names of roots become folders below the destination: each must be one, and none below another."""
    for name in names:
        parts = name.split("/") if name else []
        if any(part in {"", ".", ".."} for part in parts):
            raise InvalidValue(f"{plain(name)!r} cannot be the name of a folder in the copy", hint="use name=FOLDER")
        for other in names:
            if other != name and (other + "/").startswith(name + "/" if name else ""):
                raise InvalidValue(
                    f"the copies of {plain(name)!r} and {plain(other)!r} would lie in one another",
                    hint="use name=FOLDER with names that have no folder in common",
                )


def check_space(out: Path, needed: int) -> None:
    """Refuse to begin what cannot end well."""
    there = out
    while not there.is_dir():
        there = there.absolute().parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise StorageUnavailable(
            f"the copy needs {size(needed)}, and {str(there)!r} has {size(free)} left",
            hint="choose another disk, or copy event files alone with --events-only",
        )


class NewFile:
    """The file `target` while it is written. Without `finish`, nothing stays behind.

    It is made within the `with`: Ctrl-C between a file's making and the block would leave it behind.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        # Not a name that any reader would take for an event file.
        self._aside = target.parent / f".aboard-{os.getpid()}.partial"
        self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        with contextlib.suppress(OSError):  # finished, it has another name
            self._aside.unlink()

    @property
    def descriptor(self) -> int:
        """Where to write; makes the file when it is not there yet."""
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise cannot_write(self._target, error) from error
        return self._descriptor

    def write(self, data: bytes) -> None:
        view, descriptor = memoryview(data), self.descriptor
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError as error:
            raise cannot_write(self._target, error) from error

    def finish(self, like: os.stat_result) -> None:
        """Give the file the mode and times of another, make it durable and put it in its place."""
        descriptor = self.descriptor
        try:
            # Its owner may always read it, else the copy could not be checked.
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode) | stat.S_IRUSR)
            os.utime(descriptor, ns=(like.st_atime_ns, like.st_mtime_ns))
            os.fsync(descriptor)
            self._close()
            self._aside.rename(self._target)
        except OSError as error:
            raise cannot_write(self._target, error) from error

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def cannot_write(path: Path, error: OSError) -> StorageUnavailable:
    """What to say when the copy cannot be written."""
    return StorageUnavailable(
        f"cannot write {str(path)!r}: {error.strerror}",
        hint="what was copied before is whole and stays; make room or choose another folder, and start again",
    )


_MOST_LISTED = 1000  # files that are named; all are counted


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """Something that is not in the copy, and why; `missed` if it should be there."""

    path: str
    reason: str
    missed: bool


@dataclass(frozen=True, slots=True)
class ShortenedFile:
    """An event file that lost damaged parts."""

    path: str
    records: int  # kept
    dropped_bytes: int


@dataclass(slots=True)
class Repair:
    """What was copied, what was dropped, and what a second look at the copy found."""

    out: Path
    event_files: int = 0
    records: int = 0
    bytes: int = 0  # of event files
    dropped: Counter[str] = field(default_factory=Counter[str])  # places, by code
    dropped_bytes: int = 0
    shortened_files: int = 0
    shortened: list[ShortenedFile] = field(default_factory=list[ShortenedFile])
    other_files: int = 0
    other_files_not_wanted: int = 0
    links: int = 0
    left_out_in_all: int = 0
    missed: int = 0
    left_out: list[SkippedFile] = field(default_factory=list[SkippedFile])
    check: Diagnosis = field(default_factory=Diagnosis)
    is_confirmed: bool = False  # the copy was read again and has all that was written

    @property
    def is_complete(self) -> bool:
        """Whether all that can be saved is in the copy."""
        return self.is_confirmed and self.missed == 0

    def leave_out(self, path: Path | str, reason: str, *, missed: bool) -> None:
        """Note something that is not in the copy."""
        self.left_out_in_all += 1
        self.missed += missed
        if len(self.left_out) < _MOST_LISTED:
            self.left_out.append(SkippedFile(str(path), reason, missed))

    def shorten(self, file: ShortenedFile) -> None:
        self.shortened_files += 1
        if len(self.shortened) < _MOST_LISTED:
            self.shortened.append(file)


@dataclass(slots=True)
class RepairPlan:
    """What to copy to where."""

    folders: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])
    event_files: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])
    other_files: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])
    links: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])

    def add(self, folder: WalkedFolder, target: Path, *, is_file: bool) -> None:
        """Take in a folder, or of the folder of a file that was named only this file."""
        if not is_file:
            self.folders.append((folder.path, target))
        self.event_files += [(folder.path / name, target / name) for name in folder.event_files]
        self.other_files += [(folder.path / name, target / name) for name in folder.other_files]
        self.links += [(folder.path / name, target / name) for name in folder.links]

    def needed_bytes(self) -> int:
        """Room for all files."""
        return sum(_size(source) for source, _ in self.event_files + self.other_files)


def plan_of(roots: Mapping[str, Path], result: Repair) -> RepairPlan:
    """Look at all that is below the roots; what cannot be copied is noted in the result."""
    plan = RepairPlan()
    status = result.out.stat()

    def tell(finding: Finding) -> None:
        result.leave_out(finding.path, finding.message, missed=finding.code == "unreadable-folder")

    for name, root in roots.items():
        base = result.out / name
        folders = walk(
            root,
            tell,
            is_kept=lambda link, root=root: _stays_inside(link, root),
            is_left_out=lambda identity: identity == (status.st_dev, status.st_ino),
        )
        for folder in folders:
            plan.add(folder, base if folder.name == "." else base / folder.name, is_file=not root.is_dir())
    return plan


def _stays_inside(link: Path, root: Path) -> bool:
    """Whether a link means the same in a copy of the root: it leads from within to within, by names alone."""
    try:
        target = link.readlink()
    except OSError:
        return False
    by_name = os.path.normpath(link.parent.relative_to(root) / target)
    if target.is_absolute() or by_name.split("/")[0] == "..":
        return False
    end = os.path.realpath(link)
    return Path(end).is_relative_to(os.path.realpath(root)) and end == os.path.realpath(root / by_name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


_PIECE = 1 << 20


def repair(
    roots: Mapping[str, Path], out: Path, *, events_only: bool = False, progress: InspectionProgress | None = None
) -> Repair:
    """Write a clean copy of what is below `roots` into the new folder `out`, and check it.

    What is done when it fails or is interrupted is whole and stays.
    """
    progress = progress or InspectionProgress()
    progress.begin("looking for files to copy", 0)
    check_destination(out, roots)
    result = Repair(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    plan = plan_of(roots, result)
    if events_only:
        result.other_files_not_wanted = len(plan.other_files)
        plan.other_files.clear()
    check_space(out, plan.needed_bytes())
    _make_folders(plan)
    progress.begin("copied", len(plan.event_files) + len(plan.other_files))
    written: dict[Path, tuple[int, int]] = {}
    with Inspectors(progress) as inspectors:
        for source, target in plan.event_files:
            _copy_event_file(source, target, inspectors, result, written)
    for source, target in plan.other_files:
        _copy_other_file(source, target, result, progress)
    _copy_links(plan, result)
    _finish_folders(plan)
    _confirm(result, written, progress)
    return result


def _make_folders(plan: RepairPlan) -> None:
    targets = dict.fromkeys([target for _, target in plan.folders] + [target.parent for _, target in plan.event_files])
    for target in targets:
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(target, error) from error


def _copy_event_file(
    source: Path, target: Path, inspectors: Inspectors, result: Repair, written: dict[Path, tuple[int, int]]
) -> None:
    try:
        status = source.stat()
    except OSError as error:
        _note_unreadable(source, error.errno or 0, result)
        return
    with NewFile(target) as file:
        report = inspectors.one(source, file.descriptor)
        if report.copy_error:
            raise cannot_write(target, OSError(report.copy_error, os.strerror(report.copy_error)))
        if report.error and not report.records:
            _note_unreadable(source, report.error, result)
            return
        if report.error:
            # A failing disk, most likely: what could be read is saved all the same.
            reason = f"can be read up to byte {report.read_to:,} only: {os.strerror(report.error)}"
            result.leave_out(source, reason, missed=True)
        if report.size and not report.records:
            _count_dropped(report, result)
            result.leave_out(source, "nothing in it is an event", missed=False)
            return
        file.finish(status)
    written[target] = report.records, report.copied_bytes
    result.event_files += 1
    result.records += report.records
    result.bytes += report.copied_bytes
    if dropped := _count_dropped(report, result):
        result.shorten(ShortenedFile(str(source), report.records, dropped))


def _count_dropped(report: FileReport, result: Repair) -> int:
    """How many bytes of the file are not in the copy."""
    for kind, code in enumerate(DAMAGE_CODES):
        if places := report.damage(kind)[0]:
            result.dropped[code] += places
    if report.tail:
        result.dropped["truncated"] += 1
    dropped = report.size - report.copied_bytes
    result.dropped_bytes += dropped
    return dropped


def _note_unreadable(source: Path, error: int, result: Repair) -> None:
    if error == errno.ENOENT and source.is_symlink():
        result.leave_out(source, "the link leads nowhere", missed=False)
    elif error == errno.ELOOP:
        result.leave_out(source, "the link leads to itself", missed=False)
    elif error == errno.ESPIPE:
        result.leave_out(source, "is no regular file", missed=False)
    elif error != errno.ENOENT:  # else it was there a moment ago
        result.leave_out(source, f"cannot be read: {os.strerror(error)}", missed=True)


def _copy_other_file(source: Path, target: Path, result: Repair, progress: InspectionProgress) -> None:
    try:
        # Opening never waits, whatever the name stands for.
        reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        # ENXIO: a socket.
        _note_unreadable(source, errno.ESPIPE if error.errno == errno.ENXIO else error.errno or 0, result)
        return
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            result.leave_out(source, "is no regular file", missed=False)
            return
        with NewFile(target) as file:
            while True:
                try:
                    piece = os.read(reading, _PIECE)
                except OSError as error:
                    _note_unreadable(source, error.errno or 0, result)
                    return
                if not piece:
                    break
                file.write(piece)
                progress.bytes_done += len(piece)
            file.finish(status)
        result.other_files += 1
    finally:
        os.close(reading)
        progress.files_done += 1


def _copy_links(plan: RepairPlan, result: Repair) -> None:
    """Links within the tree stay links; those whose end is not in the copy are left out."""
    for source, target in plan.links:
        try:
            target.symlink_to(source.readlink())
        except OSError as error:
            raise cannot_write(target, error) from error
    for source, target in plan.links:
        if _leads_somewhere(target):
            result.links += 1
        else:
            target.unlink()
            result.leave_out(source, "what the link leads to is not in the copy", missed=False)


def _leads_somewhere(link: Path) -> bool:
    try:
        return link.exists()
    except OSError:
        return False  # to itself


def _finish_folders(plan: RepairPlan) -> None:
    """Modes and times as they were, the innermost first: what is done in a folder changes its time."""
    for source, target in reversed(plan.folders):
        try:
            status = source.stat()
        except OSError:
            continue  # the original is gone meanwhile; the copy stays as it is
        try:
            target.chmod(stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError as error:
            raise cannot_write(target, error) from error


def _confirm(result: Repair, written: Mapping[Path, tuple[int, int]], progress: InspectionProgress) -> None:
    """Read the copy again: nothing in it may be damaged, and every record must be there."""
    progress.begin("checking the copy", 0)
    result.check = diagnose({"": result.out}, progress)
    there = {file.path: (file.records, file.size) for file in result.check.files}
    result.is_confirmed = result.check.verdict is not Verdict.DAMAGED and all(
        there.get(path) == expected for path, expected in written.items()
    )
