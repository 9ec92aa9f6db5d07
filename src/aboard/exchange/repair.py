# SPDX-License-Identifier: Apache-2.0
"""A clean copy of folders with event files: every record that is whole, nothing that is damaged; originals stay."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from aboard._native import FileReport
from aboard.exchange.destination import check_destination, check_space
from aboard.exchange.diagnosis import Verdict
from aboard.exchange.doctor import diagnose
from aboard.exchange.examined_file import DAMAGE_CODES
from aboard.exchange.inspecting import Inspectors, Progress
from aboard.exchange.new_file import NewFile, cannot_write
from aboard.exchange.repair_plan import Plan, plan_of
from aboard.exchange.repair_result import Repair, Shortened

_PIECE = 1 << 20


def repair(
    roots: Mapping[str, Path], out: Path, *, events_only: bool = False, progress: Progress | None = None
) -> Repair:
    """Write a clean copy of what is below `roots` into the new folder `out`, and check it.

    What is done when it fails or is interrupted is whole and stays.
    """
    progress = progress or Progress()
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


def _make_folders(plan: Plan) -> None:
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
        result.shorten(Shortened(str(source), report.records, dropped))


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


def _copy_other_file(source: Path, target: Path, result: Repair, progress: Progress) -> None:
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


def _copy_links(plan: Plan, result: Repair) -> None:
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


def _finish_folders(plan: Plan) -> None:
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


def _confirm(result: Repair, written: Mapping[Path, tuple[int, int]], progress: Progress) -> None:
    """Read the copy again: nothing in it may be damaged, and every record must be there."""
    progress.begin("checking the copy", 0)
    result.check = diagnose({"": result.out}, progress)
    there = {file.path: (file.records, file.size) for file in result.check.files}
    result.is_confirmed = result.check.verdict is not Verdict.DAMAGED and all(
        there.get(path) == expected for path, expected in written.items()
    )
