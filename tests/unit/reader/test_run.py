# SPDX-License-Identifier: Apache-2.0
"""One run: its tags by plugin, its points and its media, live."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboardX import SummaryWriter as PeerWriter

from aboard import SummaryWriter
from aboard._native import frame_record
from aboard.reader.run import RunReader
from aboard.reader.tags import DataClass, Source


def refresh(run: RunReader) -> bool:
    return run.logdir.refresh(sorted(os.fsencode(path.name) for path in run.folder.iterdir()))


def opened(folder: Path) -> RunReader:
    run = RunReader("run", folder)
    refresh(run)
    return run


def steps(run: RunReader, tag: str) -> list[int]:
    found = run.by_plugin("scalars").get(tag)
    return found.points().steps.tolist() if found else []


def values(run: RunReader, tag: str) -> list[float]:
    return run.by_plugin("scalars")[tag].points().values.tolist()


def write(path: Path, *events: event_pb2.Event) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for event in events:
            file.write(frame_record(event.SerializeToString()))


def scalar(tag: str, step: int, wall_time: float, value: float = 0) -> event_pb2.Event:
    event = event_pb2.Event(step=step, wall_time=wall_time)
    event.summary.value.add(tag=tag, simple_value=value)
    return event


def test_every_kind_of_summary_is_listed_under_its_plugin(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_histogram("weights", np.arange(10.0), 1)
        writer.add_image("picture", np.zeros((3, 4, 5), np.uint8), 1)
        writer.add_text("note", "words", 1)
        writer.add_audio("sound", np.zeros((1, 100)), 1)
    run = opened(tmp_path)
    assert run.plugins() >= {"scalars", "histograms", "images", "text", "audio"}
    assert next(tag.name for tag in run.tags()) == "loss"
    loss = run.by_plugin("scalars")["loss"]
    assert loss.source == Source.SUMMARY
    assert loss.meaning.data_class == DataClass.SCALAR
    assert loss.status.points == 1
    assert loss.status.last_step == 1
    assert loss.points().values.tolist() == [0.5]
    weights = run.by_plugin("histograms")["weights"]
    array = weights.array(weights.entries()[0])
    assert array is not None
    assert array.shape[1] == 3
    assert array[:, 2].sum() == 10
    picture = run.by_plugin("images")["picture"]
    width, height, data = picture.blobs(picture.entries()[0]) or []
    assert (width, height) == (b"5", b"4")
    assert data.startswith(b"\x89PNG")
    (sound,) = run.by_plugin("audio")["sound"].blobs(run.by_plugin("audio")["sound"].entries()[0]) or []
    assert sound.startswith(b"RIFF")
    (note,) = run.by_plugin("text").values()
    text = note.array(note.entries()[0])
    assert text is not None
    assert text.ravel().tolist() == [b"words"]


def eventually(run: RunReader, condition: Callable[[], bool], *writers: Any) -> bool:
    """tensorboardX returns from `flush` before its thread has written what was added."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for writer in writers:
            writer.flush()
        refresh(run)
        if "scalars" in run.plugins() and condition():
            return True
        time.sleep(0.005)
    return False


def test_a_growing_file_is_seen_by_the_next_refresh(tmp_path: Path) -> None:
    writer = SummaryWriter(str(tmp_path))
    run = RunReader("run", tmp_path)
    for step in range(5):
        writer.add_scalar("loss", step, step)
        writer.flush()
        assert refresh(run)
        assert steps(run, "loss") == list(range(step + 1))
    assert not refresh(run)
    writer.close()


def test_a_file_of_tensorboardx_that_grows(tmp_path: Path) -> None:
    writer = PeerWriter(str(tmp_path))
    run = RunReader("run", tmp_path)
    for step in range(5):
        writer.add_scalar("loss", step, step)
        assert eventually(run, lambda: steps(run, "loss") == list(range(step + 1)), writer)  # noqa: B023
    writer.close()
    assert run.logdir.generation == 0


@pytest.mark.parametrize("make", [SummaryWriter, PeerWriter], ids=["aboard", "tensorboardX"])
def test_two_writers_in_one_folder_both_show(tmp_path: Path, make: type) -> None:
    writers = [make(str(tmp_path), filename_suffix=f".{rank}") for rank in range(2)]
    run = RunReader("run", tmp_path)
    for step in range(10):
        for rank, writer in enumerate(writers):
            writer.add_scalar(f"loss/{rank}", rank, step)
            writer.add_scalar("both", rank, step)
            assert eventually(run, lambda: steps(run, f"loss/{rank}")[-1:] == [step], *writers)  # noqa: B023
    for writer in writers:
        writer.close()
    refresh(run)
    for rank in range(2):
        assert steps(run, f"loss/{rank}") == list(range(10))
    both = run.by_plugin("scalars")["both"]
    assert steps(run, "both") == list(range(10))
    assert values(run, "both") == [1.0] * 10  # the newest of each step
    assert both.status.points == 20
    assert both.status.superseded == 0


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("make", [SummaryWriter, PeerWriter], ids=["aboard", "tensorboardX"])
def test_a_preempted_and_restarted_run_is_one_clean_curve(tmp_path: Path, make: type, live: bool) -> None:
    run = RunReader("run", tmp_path)
    # Resumed from checkpoints at 5 and at 8, after more than that had been logged.
    for attempt, (start, end) in enumerate([(0, 8), (5, 12), (8, 15)]):
        writer = make(str(tmp_path), filename_suffix=f".{attempt}")
        for step in range(start, end):
            writer.add_scalar("loss", attempt, step)
            if live:
                writer.flush()
                refresh(run)
        writer.close()
    refresh(run)
    assert steps(run, "loss") == list(range(15))
    assert values(run, "loss") == [0.0] * 5 + [1.0] * 3 + [2.0] * 7
    status = run.by_plugin("scalars")["loss"].status
    assert (status.points, status.superseded, status.last_step) == (15, 7, 14)


def test_purge_step_hides_what_comes_after(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(10):
            writer.add_scalar("a", step, step)
            writer.add_scalar("b", step, step)
    with SummaryWriter(str(tmp_path), purge_step=4, filename_suffix=".2") as writer:
        writer.add_scalar("a", 4, 4)
    run = opened(tmp_path)
    assert steps(run, "a") == list(range(5))
    assert steps(run, "b") == list(range(4))


def test_numbers_stay_with_their_tags_when_files_vanish(tmp_path: Path) -> None:
    write(tmp_path / "1.tfevents", scalar("first", 1, 100))
    write(tmp_path / "2.tfevents", scalar("second", 1, 200), scalar("second", 2, 201))
    run = opened(tmp_path)
    held = run.by_plugin("scalars")
    second = held["second"]
    (tmp_path / "1.tfevents").unlink()
    refresh(run)
    assert second.points().steps.tolist() == [1, 2]
    status = held["first"].status
    assert (status.points, status.superseded, status.last_step, status.last_wall_time) == (0, 0, 0, 0.0)
    assert len(held["first"].points()) == 0
    assert list(run.by_plugin("scalars")) == ["second"]
    assert [tag.name for tag in run.tags()] == ["second"]
    assert run.by_plugin("scalars")["second"].number == second.number
    # Statuses are listed by number.
    assert run.logdir.statuses()[second.number].points == 2
    write(tmp_path / "1.tfevents", scalar("first", 7, 100), scalar("third", 7, 100))
    refresh(run)
    assert set(run.by_plugin("scalars")) == {"first", "second", "third"}
    assert held["first"].points().steps.tolist() == [7]


def test_a_media_entry_of_a_file_that_changed_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.tfevents"
    with SummaryWriter(str(tmp_path / "w")) as writer:
        writer.add_histogram("h", np.arange(3.0), 1, walltime=5)
    (made,) = (tmp_path / "w").iterdir()
    folder = tmp_path / "run"
    folder.mkdir()
    path = folder / "a.tfevents"
    path.write_bytes(made.read_bytes())
    run = opened(folder)
    tag = run.by_plugin("histograms")["h"]
    (entry,) = tag.entries()
    assert tag.array(entry) is not None
    path.write_bytes(b"x" * path.stat().st_size)
    assert tag.array(entry) is None
    path.unlink()
    assert tag.array(entry) is None
    assert tag.blobs(entry) is None


def test_same_step_twice_the_newest_is_shown(tmp_path: Path) -> None:
    write(tmp_path / "a.tfevents", *(scalar("x", step, 100 + n, n) for n, step in enumerate([1, 2, 2, 1, 3])))
    image = [event_pb2.Event(step=1, wall_time=200 + n) for n in range(3)]
    for event in image:
        event.summary.value.add(tag="i").image.encoded_image_string = b"%d" % event.wall_time
    write(tmp_path / "a.tfevents", *image)
    run = opened(tmp_path)
    assert (steps(run, "x"), values(run, "x")) == ([1, 2, 3], [3.0, 2.0, 4.0])
    picture = run.by_plugin("images")["i"]
    (entry,) = picture.entries()
    assert (picture.blobs(entry) or [])[2] == b"202"


def test_points_are_read_only_views(tmp_path: Path) -> None:
    write(tmp_path / "a.tfevents", *(scalar("x", step, 100, step) for step in range(100)))
    run = opened(tmp_path)
    points = run.by_plugin("scalars")["x"].points()
    array = points.steps
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    write(tmp_path / "a.tfevents", *(scalar("x", step, 100, step) for step in range(100, 5000)))
    refresh(run)
    del points
    assert array.tolist() == list(range(100))
    assert len(run.by_plugin("scalars")["x"].points()) == 5000


def test_points_without_any(tmp_path: Path) -> None:
    points = RunReader("run", tmp_path).logdir.scalars(0, True)
    assert len(points) == len(points.steps) == len(points.values) == len(points.wall_times) == 0
    assert points.steps.dtype == np.int64
    assert points.json(False) == b"[]"
    assert len(points.reduced(10)) == len(points.window(0, 5)) == 0


def test_reduced_points(tmp_path: Path) -> None:
    write(tmp_path / "a.tfevents", *(scalar("x", n, 100, float("nan") if n == 500 else n % 97) for n in range(1000)))
    points = opened(tmp_path).by_plugin("scalars")["x"].points()
    reduced = points.reduced(100)
    assert len(reduced) <= 100
    assert reduced.steps[-1] == 999
    assert np.isnan(reduced.values).sum() == 1
    assert points.reduced(5000).steps.tolist() == list(range(1000))


def test_names_that_are_no_text(tmp_path: Path) -> None:
    value = summary_pb2.Summary.Value(simple_value=1).SerializeToString() + b"\x0a\x03a\xff\xfe"
    event = event_pb2.Event(step=1, wall_time=1).SerializeToString()
    summary = b"\x0a" + bytes([len(value)]) + value
    (tmp_path / "a.tfevents").write_bytes(frame_record(event + b"\x2a" + bytes([len(summary)]) + summary))
    (name,) = opened(tmp_path).by_plugin("scalars")
    assert name == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"


def test_many_threads_read_while_one_refreshes(tmp_path: Path) -> None:
    run = RunReader("run", tmp_path)
    done = threading.Event()
    failures: list[BaseException] = []

    def look() -> None:
        try:
            while not done.is_set():
                for tag in run.tags():
                    found = tag.points().steps
                    assert np.all(np.diff(found) > 0)
                    tag.status  # noqa: B018
                    tag.entries()
                run.plugins()
                run.logdir.files()
                run.logdir.statuses()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for attempt in range(6):
        for step in range(attempt * 10, attempt * 10 + 30):
            for writer in "ab":
                write(
                    tmp_path / f"{attempt}{writer}.tfevents",
                    *(scalar(f"tag{n}", step, 1000 * attempt + step, step) for n in range(5)),
                )
            refresh(run)
        if attempt == 3:
            (tmp_path / "1a.tfevents").unlink()
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert steps(run, "tag0") == list(range(80))
