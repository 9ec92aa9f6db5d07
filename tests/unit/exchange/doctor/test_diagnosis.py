# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds in files and folders that were damaged on purpose."""

from __future__ import annotations

import math
import os
import random
import stat
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard._native import Logdir, frame_record, masked_crc32c
from aboard.exchange.doctor.diagnosis import MOST_FINDINGS, Diagnosis, Verdict, diagnose
from aboard.exchange.doctor.findings import Finding
from aboard.exchange.doctor.folders import attempts_of, written_files
from aboard.exchange.doctor.inspection import MOST_PLACES, InspectionProgress
from support.damaged_files import NOON, flipped, scalar, scalars, session_start, version, write
from support.privileges import folder_of_an_ordinary_user

NAME = "events.out.tfevents.1"


def looked_at(root: Path) -> Diagnosis:
    return diagnose({"": root})


def only(diagnosis: Diagnosis, code: str) -> Finding:
    """The only finding, which has this code."""
    assert dict(diagnosis.counts) == {code: 1}
    (finding,) = diagnosis.findings
    assert finding.code == code
    return finding


def test_good_runs_are_healthy(tmp_path: Path) -> None:
    for run in ("a", "b/train"):
        with SummaryWriter(tmp_path / run) as writer:
            for step in range(20):
                writer.add_scalar("loss", 1 / (step + 1), step)
                writer.add_histogram("weights", [1.0, 2.0], step)
    diagnosis = looked_at(tmp_path)
    assert diagnosis.verdict is Verdict.HEALTHY
    assert diagnosis.findings == []
    assert diagnosis.verdict_line == "healthy: 2 files"
    file = diagnosis.files[0]
    assert (file.records, file.tags, file.lowest_step, file.highest_step) == (41, 2, 0, 19)


def test_a_damaged_payload_is_told_with_file_and_byte(tmp_path: Path) -> None:
    good, bad = scalars(range(3)), scalar(step=3)
    path = write(tmp_path / NAME, good + flipped(bad, 20) + scalar(step=4, wall_time=NOON + 3))
    diagnosis = looked_at(tmp_path)
    finding = only(diagnosis, "bad-payload")
    assert (finding.path, finding.byte, finding.end) == (str(path), len(good), len(good) + len(bad))
    assert diagnosis.verdict_line == "damaged: 1 of 1 file"
    assert diagnosis.files[0].records == 5
    assert diagnosis.files[0].damaged_bytes == len(bad)


def test_a_damaged_header_is_told_with_the_bytes_that_are_lost(tmp_path: Path) -> None:
    good, bad = scalars(range(3)), scalar(step=3)
    write(tmp_path / NAME, good + flipped(bad, 2) + scalar(step=4, wall_time=NOON + 3))
    finding = only(looked_at(tmp_path), "bad-header")
    assert (finding.byte, finding.end) == (len(good), len(good) + len(bad))
    assert f"the next one is at byte {len(good) + len(bad)}" in finding.message


def test_a_record_that_is_no_event(tmp_path: Path) -> None:
    good = scalars(range(3))
    write(tmp_path / NAME, good + frame_record(b"\x0a\xff"))
    assert only(looked_at(tmp_path), "no-event").byte == len(good)


def test_a_record_longer_than_is_read(tmp_path: Path) -> None:
    length = (1 << 29) + 1
    header = length.to_bytes(8, "little")
    path = write(tmp_path / NAME, version() + header + masked_crc32c(header).to_bytes(4, "little"))
    os.truncate(path, len(version()) + length + 16)
    finding = only(looked_at(tmp_path), "record-too-long")
    assert finding.byte == len(version())
    assert "536.9 MB" in finding.message


def test_a_length_of_four_gigabytes_is_a_truncated_tail(tmp_path: Path) -> None:
    header = (4 << 30).to_bytes(8, "little")
    write(tmp_path / NAME, version() + header + masked_crc32c(header).to_bytes(4, "little") + bytes(100))
    finding = only(looked_at(tmp_path), "truncated")
    assert finding.details == {"bytes": 112, "missing_bytes": (4 << 30) + 16 - 112}


@pytest.mark.parametrize(("kept", "missing"), [(5, None), (12, True), (30, True)])
def test_a_truncated_tail_is_damage_unless_the_file_is_being_written(
    tmp_path: Path, kept: int, missing: bool | None
) -> None:
    good, last = scalars(range(3)), scalar(step=3)
    write(tmp_path / "old" / NAME, good + last[:kept])
    write(tmp_path / "new" / NAME, scalars(range(3), tag="cost") + last[:kept], age=3)
    diagnosis = looked_at(tmp_path)
    truncated, unfinished = diagnosis.findings
    assert (truncated.code, unfinished.code) == ("truncated", "unfinished")
    assert truncated.byte == unfinished.byte == len(good)
    expected = {"bytes": kept, "missing_bytes": len(last) - kept if missing else None}
    assert truncated.details == unfinished.details == expected
    assert "written 2 h ago" in truncated.message
    assert diagnosis.verdict_line == "damaged: 1 of 2 files"


def test_a_file_that_is_only_being_written_is_healthy(tmp_path: Path) -> None:
    write(tmp_path / "a" / NAME, scalars(range(3))[:-3], age=0)
    write(tmp_path / "b" / NAME, b"", age=0)
    diagnosis = looked_at(tmp_path)
    assert dict(diagnosis.counts) == {"unfinished": 2}
    assert diagnosis.verdict is Verdict.HEALTHY


def test_files_without_an_event(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(5000)
    write(tmp_path / "empty" / NAME, b"")
    write(tmp_path / "noise" / NAME, b"N" + noise)
    write(tmp_path / "packed" / f"{NAME}.gz", b"\x1f\x8b" + noise)
    write(tmp_path / "pointer" / NAME, b"version https://git-lfs.github.com/spec/v1\n" + b"x" * 100)
    write(tmp_path / "all-bad" / NAME, flipped(version(), 20) + flipped(scalar(), 20))
    diagnosis = looked_at(tmp_path)
    assert dict(diagnosis.counts) == {"empty-file": 1, "no-events": 4}
    said = {Path(finding.path).parent.name: finding.message for finding in diagnosis.findings}
    assert "nothing in its 5.0 kB is an event" in said["noise"]
    assert "gzip" in said["packed"]
    assert "git lfs pull" in said["pointer"]
    assert diagnosis.verdict_line == "damaged: 4 of 5 files"


def test_steps_that_go_back_without_a_restart(tmp_path: Path) -> None:
    start = scalars([1, 2, 5])
    write(tmp_path / NAME, start + scalar(step=3, wall_time=NOON + 3) + scalar(step=1, wall_time=NOON + 4))
    finding = only(looked_at(tmp_path), "steps-back")
    assert finding.byte == len(start)
    assert finding.details == {"tag": "loss", "from_step": 5, "to_step": 3, "times": 2}
    assert looked_at(tmp_path).verdict is Verdict.REMARKS


def test_a_session_that_starts_again_is_a_restart(tmp_path: Path) -> None:
    write(tmp_path / NAME, scalars([1, 2, 5]) + session_start(2) + scalar(step=2))
    diagnosis = looked_at(tmp_path)
    assert diagnosis.counts["session-restarts"] == 1
    assert diagnosis.counts["steps-back"] == 0


def test_clock_jumps(tmp_path: Path) -> None:
    start = scalars([1, 2])
    back = scalar(step=3, wall_time=NOON - 3600)
    write(tmp_path / NAME, start + back + scalar(step=4, wall_time=NOON + 90_000))
    diagnosis = looked_at(tmp_path)
    assert dict(diagnosis.counts) == {"clock-back": 1, "clock-ahead": 1}
    backwards, ahead = diagnosis.findings
    assert (backwards.byte, ahead.byte) == (len(start), len(start) + len(back))
    assert "goes back by 1 h" in backwards.message
    assert backwards.details["from"] == "2023-11-14T22:13:21.000000Z"
    assert backwards.details["to"] == "2023-11-14T21:13:20.000000Z"


def test_remarks_about_times_and_values(tmp_path: Path) -> None:
    odd = scalar(step=1, value=math.nan) + scalar(step=2, value=-math.inf) + scalar(step=3, wall_time=math.nan)
    write(tmp_path / NAME, odd)
    diagnosis = looked_at(tmp_path)
    assert dict(diagnosis.counts) == {"non-finite-values": 1, "no-wall-time": 1, "no-file-version": 1}
    (values,) = [finding for finding in diagnosis.findings if finding.code == "non-finite-values"]
    assert values.details == {"nan": 1, "infinite": 1}


def test_a_value_that_cannot_be_decoded(tmp_path: Path) -> None:
    event = b"\x2a\x04" + b"\x0a\x02\x0a\xff"  # a summary with a value whose tag is longer than the value
    start = scalars(range(3))
    write(tmp_path / NAME, start + frame_record(event))
    diagnosis = looked_at(tmp_path)
    (finding,) = [finding for finding in diagnosis.findings if finding.code == "bad-value"]
    assert finding.byte == len(start)
    assert diagnosis.files[0].records == 5


def test_overlapping_writers_are_told_with_files_and_time(tmp_path: Path) -> None:
    write(tmp_path / "tfevents.0", scalars(range(100)))
    write(tmp_path / "tfevents.1", scalars(range(100), wall_time=NOON + 40))
    write(tmp_path / "tfevents.unused", version(NOON + 50))
    finding = only(looked_at(tmp_path), "overlapping-writers")
    assert finding.path == str(tmp_path)
    assert finding.details["files"] == [str(tmp_path / "tfevents.0"), str(tmp_path / "tfevents.1")]
    assert finding.details["from"] == "2023-11-14T22:14:00.000000Z"
    assert finding.details["to"] == "2023-11-14T22:14:59.000000Z"
    assert "2 files were written at the same time" in finding.message
    assert "(59 s)" in finding.message


def test_a_tag_with_two_kinds_of_data_is_reported(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("tagname", 1, 0)
        writer.add_scalar("tagname", 2, 1, new_style=True)  # a number too
        writer.add_scalar("other", 1, 0)
        writer.add_histogram("tagname", [1, 2], 1)
        writer.add_histogram("tagname", [1, 2], 2)
    finding = only(looked_at(tmp_path), "two-kinds")
    assert finding.message == "tag 'tagname' holds scalar and histogram data; only the scalar data is shown"
    assert finding.details == {"tag": "tagname", "kinds": ["scalar", "histogram"]}


def test_a_shorter_training_that_hides_an_earlier_one_is_reported(tmp_path: Path) -> None:
    for number, steps in enumerate([range(200), range(1), range(5)]):
        begin = NOON + 1000 * number
        points = b"".join(scalar("loss", step, begin + step) for step in steps)
        write(tmp_path / f"events.out.tfevents.{number}", version(begin) + points)
    diagnosis = looked_at(tmp_path)
    (finding,) = (each for each in diagnosis.findings if each.code == "hidden-points")
    assert "attempt 1 reached step 199, but a later one began at step 0 and none got beyond 4" in finding.message
    assert diagnosis.verdict is Verdict.REMARKS


def test_a_training_that_resumes_and_goes_further_hides_nothing(tmp_path: Path) -> None:
    for number, steps in enumerate([range(100), range(80, 200)]):
        begin = NOON + 1000 * number
        points = b"".join(scalar("loss", step, begin + step) for step in steps)
        write(tmp_path / f"events.out.tfevents.{number}", version(begin) + points)
    diagnosis = looked_at(tmp_path)
    assert diagnosis.counts["hidden-points"] == 0
    assert diagnosis.counts["restarts"] == 1


def test_restarts_are_information(tmp_path: Path) -> None:
    write(tmp_path / "tfevents.0", scalars(range(100)))
    write(tmp_path / "tfevents.1", scalars(range(60, 100), wall_time=NOON + 1000))
    diagnosis = looked_at(tmp_path)
    finding = only(diagnosis, "restarts")
    assert finding.message == "2 attempts, which begin at steps 0, 60"
    assert diagnosis.verdict is Verdict.HEALTHY


def test_segments_of_one_file_are_neither_writers_nor_restarts(tmp_path: Path) -> None:
    write(tmp_path / f"{NAME}.00000000", scalars(range(100)))
    write(tmp_path / f"{NAME}.00000001", scalar(step=99, wall_time=NOON + 200))  # later than all before
    write(tmp_path / f"{NAME}.00000007", scalar(step=50, wall_time=NOON + 150))  # between the others
    diagnosis = looked_at(tmp_path)
    assert diagnosis.findings == []
    assert diagnosis.verdict_line == "healthy: 3 files"
    write(tmp_path / "tfevents.later", scalars(range(60, 100), wall_time=NOON + 180))
    finding = only(looked_at(tmp_path), "overlapping-writers")
    assert finding.details["files"] == [str(tmp_path / f"{NAME}.00000000"), str(tmp_path / "tfevents.later")]
    write(tmp_path / "tfevents.later", scalars(range(60, 100), wall_time=NOON + 300))
    finding = only(looked_at(tmp_path), "restarts")
    assert finding.message == "2 attempts, which begin at steps 0, 60"


@pytest.mark.parametrize("seed", range(30))
def test_attempts_are_those_of_a_board(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(chance.randrange(1, 7)):
        begin = NOON + chance.randrange(0, 40) if chance.random() < 0.95 else math.nan
        data = scalars(range(chance.randrange(0, 10)), wall_time=begin)
        if chance.random() < 0.5:
            write(tmp_path / f"tfevents.{number}", data)
            continue
        more = [scalar(step=5, wall_time=NOON + chance.randrange(-20, 60)) for _ in range(chance.randrange(0, 3))]
        for segment, part in enumerate([data, *more]):
            write(tmp_path / f"tfevents.{number}.{segment * 3:08d}", part)
    logdir = Logdir(os.fsencode(tmp_path))
    logdir.refresh(sorted(os.fsencode(path.name) for path in tmp_path.iterdir()))
    by_board: dict[int, set[str]] = {}
    for file in logdir.files():
        by_board.setdefault(file.attempt, set()).add(os.fsdecode(file.name))
    attempts = attempts_of(written_files(looked_at(tmp_path).files))
    by_doctor = [{part.path.name for file in attempt for part in file.parts} for attempt in attempts]
    assert by_doctor == [by_board[attempt] for attempt in sorted(by_board)]


def test_copied_and_linked_runs(tmp_path: Path) -> None:
    data = scalars(range(10)), scalars(range(10, 20), wall_time=NOON + 100)
    for run in ("a", "copied"):
        write(tmp_path / run / "tfevents.0", data[0])
        write(tmp_path / run / "tfevents.1", data[1])
    write(tmp_path / "b" / "tfevents.0", scalars(range(10), tag="other"))
    (tmp_path / "linked").symlink_to("b")
    diagnosis = looked_at(tmp_path)
    copied, linked = [finding for finding in diagnosis.findings if finding.code == "duplicate-run"]
    assert copied.path == str(tmp_path / "a")
    assert copied.details == {"same_as": [str(tmp_path / "copied")], "same_as_in_all": 1, "linked": False}
    assert linked.path == str(tmp_path / "b")
    assert linked.details == {"same_as": [str(tmp_path / "linked")], "same_as_in_all": 1, "linked": True}
    assert diagnosis.counts["duplicate-file"] == 0
    assert diagnosis.verdict is Verdict.REMARKS


def test_a_file_that_is_in_two_runs_which_differ_otherwise(tmp_path: Path) -> None:
    shared = scalars(range(10))
    first = write(tmp_path / "a" / "tfevents.0", shared)
    (tmp_path / "b").mkdir()
    os.link(first, tmp_path / "b" / "tfevents.0")
    write(tmp_path / "b" / "tfevents.1", scalars(range(10, 20), wall_time=NOON + 100))
    write(tmp_path / "c" / "tfevents.0", shared)
    diagnosis = looked_at(tmp_path)
    (same_run,) = [finding for finding in diagnosis.findings if finding.code == "duplicate-run"]
    assert (same_run.path, same_run.details["same_as"]) == (str(tmp_path / "a"), [str(tmp_path / "c")])
    (tmp_path / "c" / "tfevents.0").unlink()
    same_file = next(finding for finding in looked_at(tmp_path).findings if finding.code == "duplicate-file")
    assert same_file.path == str(first)
    assert same_file.details == {"same_as": [str(tmp_path / "b" / "tfevents.0")], "same_as_in_all": 1, "linked": True}


def test_files_that_look_alike_but_differ_are_no_duplicates(tmp_path: Path) -> None:
    write(tmp_path / "a" / NAME, version() + scalar(value=1))
    write(tmp_path / "b" / NAME, version() + scalar(value=2))
    assert looked_at(tmp_path).verdict is Verdict.HEALTHY


def test_what_cannot_be_read() -> None:
    with folder_of_an_ordinary_user() as root:
        write(root / "good" / NAME, scalars(range(3)))
        write(root / "secret" / NAME, scalars(range(3))).chmod(0)
        (root / "closed").mkdir(mode=0)
        diagnosis = diagnose({"": root})
        assert dict(diagnosis.counts) == {"unreadable-file": 1, "unreadable-folder": 1}
        assert "Permission denied" in diagnosis.findings[0].message
        assert diagnosis.verdict_line == "damaged: 1 of 2 files; 1 folder cannot be read"


def test_names_of_event_files_that_are_none(tmp_path: Path) -> None:
    write(tmp_path / NAME, scalars(range(3)))
    os.mkfifo(tmp_path / "tfevents.pipe")
    (tmp_path / "tfevents.broken").symlink_to("nowhere")
    (tmp_path / "tfevents.loop").symlink_to("tfevents.loop")
    os.mknod(tmp_path / "tfevents.socket", stat.S_IFSOCK | 0o600)
    diagnosis = looked_at(tmp_path)
    codes = {Path(finding.path).name: finding.code for finding in diagnosis.findings}
    assert codes == {
        "tfevents.pipe": "not-a-file",
        "tfevents.socket": "not-a-file",
        "tfevents.broken": "broken-link",
        "tfevents.loop": "link-loop",
    }
    assert diagnosis.verdict is Verdict.REMARKS


def test_folders_without_events(tmp_path: Path) -> None:
    write(tmp_path / "run" / NAME, scalars(range(3)))
    (tmp_path / "run" / "checkpoints" / "old").mkdir(parents=True)
    (tmp_path / "nothing" / "here" / "either").mkdir(parents=True)
    finding = only(looked_at(tmp_path), "folder-without-events")
    assert finding.path == str(tmp_path / "nothing")


def test_an_empty_folder_has_nothing_to_check(tmp_path: Path) -> None:
    diagnosis = looked_at(tmp_path)
    assert diagnosis.verdict is Verdict.NOTHING
    assert diagnosis.verdict_line == "no event files found"


def test_roots_that_overlap_are_examined_once(tmp_path: Path) -> None:
    file = write(tmp_path / "run" / NAME, scalars(range(3)))
    diagnosis = diagnose({"all": tmp_path, "run": tmp_path / "run", "file": file})
    assert [examined.path for examined in diagnosis.files] == [file]
    assert diagnosis.verdict is Verdict.HEALTHY


def test_of_much_damage_the_first_places_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    bad = b"".join(flipped(scalar(step=step), 20) for step in range(200))
    for number in range(MOST_FINDINGS // MOST_PLACES + 5):
        write(tmp_path / f"run{number}" / NAME, version(NOON + number) + bad + scalar(step=number))
    diagnosis = looked_at(tmp_path)
    files = len(diagnosis.files)
    assert diagnosis.counts["bad-payload"] == 200 * files
    assert len(diagnosis.findings) == MOST_FINDINGS
    assert diagnosis.verdict_line == f"damaged: {files} of {files} files"


def test_progress_says_how_far_it_is(tmp_path: Path) -> None:
    sizes = 0
    for number in range(5):
        sizes += write(tmp_path / f"run{number}" / NAME, scalars(range(50), wall_time=NOON + number)).stat().st_size
    seen: list[tuple[str, int, int, int]] = []

    class Watched(InspectionProgress):
        def begin(self, doing: str, files: int) -> None:
            seen.append((self.doing, self.files, self.files_done, self.bytes_read))
            super().begin(doing, files)

    diagnose({"": tmp_path}, Watched())
    assert seen == [("looking for event files", 0, 5, 0), ("checked", 5, 5, sizes)]


def test_progress_in_words() -> None:
    assert InspectionProgress().words() == "looking for event files"
    assert InspectionProgress(files_done=1234).words() == "looking for event files: 1,234 found"
    assert InspectionProgress("copied", files=10).words() == "copied 0 of 10 files"
    assert (
        InspectionProgress("checked", files=1, files_done=1, bytes_done=1200).words() == "checked 1 of 1 file, 1.2 kB"
    )
