# SPDX-License-Identifier: Apache-2.0
"""One contract for every sink: aboard's own event file, and a stream through a registered factory."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import aboard._native
from aboard import SummaryWriter
from aboard.errors import WriteWarning
from aboard.writer import stream_sink
from aboard.writer.sink import Sink
from support import processes
from support.sink_targets import FolderFile, NativeTarget, StreamTarget, Target

ENTRY = b"\x0a\x04\x0a\x02xx"  # a Summary with one value without content, tag "xx"


@pytest.fixture(params=[NativeTarget, StreamTarget], ids=["native", "stream"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    before = aboard._native.memory_limit()
    yield request.param(tmp_path)
    aboard._native.set_memory_limit(before)


def reports(sink: Sink) -> list[tuple[bool, str]]:
    return list(iter(sink.take_report, None))


def add(sink: Sink, numbers: range, tag: str = "a") -> None:
    for number in numbers:
        sink.add_scalar(tag, float(number), number, 1.0)


def in_child(work: Callable[[], object]) -> None:
    """Do `work` in the child of a fork, which must end well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + 60
    while (done := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            pytest.fail("the child hung")
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(done[1]) == 0


def test_flush_has_everything_in_the_file(target: Target) -> None:
    sink = target.sink()
    add(sink, range(1000))
    sink.add_summary(ENTRY, 1000, 1.0)
    sink.add_histogram("h", np.arange(5.0), 1001, 1.0)
    sink.add_event(b"\x10\xea\x07\x2a\x08\x0a\x06\x0a\x04last")  # step 1002, tag "last"
    sink.flush()
    (path,) = processes.files(target.folder)
    assert [event.step for event in processes.events(path)] == [0, *range(1003)]


def test_points_arrive_without_any_call(target: Target) -> None:
    """How soon they do by default is measured in `test_latency.py`."""
    sink = target.sink(flush_seconds=0.1)
    for number in range(3):
        add(sink, range(number, number + 1))
        processes.until(lambda n=number: processes.steps(target.folder, "a") == list(range(n + 1)))


def test_many_entries_wake_the_writer_at_once(target: Target) -> None:
    sink = target.sink(flush_seconds=30, wake_entries=10)
    add(sink, range(9))
    other = target.sink(flush_seconds=30, wake_entries=1)
    add(other, range(1), tag="b")
    processes.until(lambda: processes.steps(target.folder, "b") == [0])
    assert processes.steps(target.folder, "a") == []
    add(sink, range(9, 10))
    processes.until(lambda: processes.steps(target.folder, "a") == list(range(10)))
    sink.close()
    other.close()


def test_each_thread_keeps_its_order(target: Target) -> None:
    sink = target.sink()

    def log(tag: str) -> None:
        for number in range(500):
            sink.add_scalar(tag, 0.0, number, 1.0)
            if number % 100 == 0:
                sink.flush()

    threads = [threading.Thread(target=log, args=(f"t{index}",)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sink.flush()
    for index in range(4):
        assert processes.steps(target.folder, f"t{index}") == list(range(500))


def test_flush_returns_while_other_threads_go_on(target: Target) -> None:
    sink = target.sink()
    stop = threading.Event()

    def log() -> None:
        number = 0
        while not stop.is_set():
            sink.add_scalar("noise", 0.0, number, 1.0)
            number += 1
            if number % 100 == 0:
                time.sleep(0.001)

    threads = [threading.Thread(target=log) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(5):
            sink.add_scalar("mine", 0.0, number, 1.0)
            sink.flush()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    sink.close()
    assert processes.steps(target.folder, "mine") == list(range(5))


def test_closing_again_does_nothing_and_a_later_entry_opens_a_new_file(target: Target) -> None:
    sink = target.sink()
    add(sink, range(3))
    sink.close()
    sink.close()
    assert len(processes.files(target.folder)) == 1
    add(sink, range(3, 5))
    sink.close()
    sink.close()
    first, second = processes.files(target.folder)
    assert [event.step for event in processes.events(first)] == [0, 0, 1, 2]
    assert [event.step for event in processes.events(second)] == [0, 3, 4]
    assert reports(sink) == []


def test_an_entry_after_close_arrives_without_another_call(target: Target) -> None:
    sink = target.sink()
    sink.close()
    add(sink, range(1))
    processes.until(lambda: processes.steps(target.folder, "a") == [0])


def test_two_sinks_in_one_second_never_share_a_file(target: Target) -> None:
    sinks = [target.sink() for _ in range(10)]
    for index, sink in enumerate(sinks):
        add(sink, range(index, index + 1))
        sink.close()
    assert len(processes.files(target.folder)) == 10
    assert sorted(processes.steps(target.folder, "a")) == list(range(10))


def test_the_purge_step_is_written_once(target: Target) -> None:
    sink = target.sink(purge_step=7)
    add(sink, range(7, 9))
    sink.close()
    add(sink, range(9, 10))
    in_child(lambda: (add(sink, range(10, 11)), sink.close()))
    sink.close()
    assert len(processes.files(target.folder)) == 3
    starts = [
        event.step
        for path in processes.files(target.folder)
        for event in processes.events(path)
        if event.HasField("session_log")
    ]
    assert starts == [7]


def test_a_failure_is_reported_once_and_so_is_the_end_of_it(target: Target) -> None:
    sink = target.sink()
    add(sink, range(3))
    sink.flush()
    for episode in range(2):
        target.fail()
        for number in range(3 + 10 * episode, 13 + 10 * episode):
            add(sink, range(number, number + 1))
            sink.flush()
        failures = reports(sink)
        assert [failure for failure, _ in failures] == [True]
        assert str(target.folder) in failures[0][1]
        target.heal()
        sink.flush()
        said = reports(sink)
        assert any("again" in text for _, text in said)
        assert len(said) <= 2  # the native log also says that the old file was removed
        sink.flush()
        assert reports(sink) == []
    sink.close()
    assert sorted(set(processes.steps(target.folder, "a"))) == list(range(23))


def test_a_failure_ends_by_itself(target: Target) -> None:
    sink = target.sink()
    target.fail()
    add(sink, range(5))
    processes.until(lambda: sink.add_scalar("b", 0.0, 0, 1.0))
    target.heal()
    processes.until(lambda: processes.steps(target.folder, "a") == list(range(5)))


def test_memory_is_bounded_while_the_target_fails_and_every_loss_is_counted(target: Target) -> None:
    sink = target.small_memory()
    target.fail()
    sink.add_summary(ENTRY, 0, 1.0)
    sink.flush()
    for number in range(1, 20_000):
        sink.add_summary(ENTRY, number, 1.0)
    failures = reports(sink)
    assert [failure for failure, _ in failures] == [True, True]
    assert "dropped" in failures[1][1]
    target.heal()
    sink.flush()
    said = [text for failure, text in reports(sink) if failure and "dropped" in text]
    (lost,) = [int(number) for text in said for number in re.findall(r"(\d+) entries", text)]
    kept = processes.steps(target.folder, "xx")
    assert kept == list(range(len(kept)))  # the oldest are kept, in order
    assert 0 < len(kept) < 20_000
    assert len(kept) + lost == 20_000
    sink.add_summary(ENTRY, 20_000, 1.0)
    sink.close()
    assert processes.steps(target.folder, "xx")[-1] == 20_000


def test_above_the_memory_limit_a_caller_waits_and_nothing_is_lost(target: Target) -> None:
    sink = target.small_memory()
    entry = b"\x0a\x84\x40\x0a\x02xx" + b"\x12\xfd\x3f" + bytes(8189)
    for number in range(200):
        sink.add_summary(entry, number, 1.0)
    sink.close()
    assert processes.steps(target.folder, "xx") == list(range(200))
    assert reports(sink) == []


def test_the_child_of_a_fork_drops_what_it_inherited_and_has_its_own_file(target: Target) -> None:
    sink = target.sink(flush_seconds=30)
    add(sink, range(5))

    def work() -> None:
        assert reports(sink) == []
        add(sink, range(100, 105))
        sink.flush()
        sink.close()

    in_child(work)
    add(sink, range(5, 8))
    sink.close()
    mine, childs = sorted(
        ([event.step for event in processes.events(path)][1:] for path in processes.files(target.folder)),
    )
    assert mine == list(range(8))
    assert childs == list(range(100, 105))


def test_a_fork_in_the_middle_of_writing_duplicates_nothing(target: Target) -> None:
    gc.freeze()  # else each child goes through, and so copies, all that tests before this one have left
    sink = target.sink(wake_entries=1)
    stop = threading.Event()
    counts = [0, 0]

    def log(index: int) -> None:
        while not stop.is_set():
            sink.add_scalar(f"t{index}", 0.0, counts[index], 1.0)
            counts[index] += 1
            time.sleep(0.0002)

    threads = [threading.Thread(target=log, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(10):
            in_child(lambda n=number: (add(sink, range(n, n + 1), "child"), sink.flush(), gc.collect()))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        gc.unfreeze()
    sink.close()
    # Tens of thousands of points: once, by the reader that is quick.
    written: dict[str, list[int]] = {}
    for path in processes.files(target.folder):
        for tag, steps in processes.many_steps(path).items():
            written.setdefault(tag, []).extend(steps)
    assert [written["t0"], written["t1"]] == [list(range(count)) for count in counts]
    assert sorted(written["child"]) == list(range(10))


def test_the_child_of_a_fork_has_no_failure_of_its_parent(target: Target) -> None:
    sink = target.sink()
    target.fail()
    add(sink, range(1))
    sink.flush()

    def work() -> None:
        assert not sink.flush()
        assert sink.take_report() is None

    in_child(work)
    assert len(reports(sink)) == 1
    target.heal()
    sink.close()


def test_a_sink_that_nobody_holds_any_more_has_written_everything(target: Target) -> None:
    for number in range(20):
        sink = target.sink(flush_seconds=0.05)
        add(sink, range(number, number + 1))
        del sink
    gc.collect()
    processes.until(lambda: sorted(processes.steps(target.folder, "a")) == list(range(20)))


def test_reports_may_be_taken_by_many_threads(target: Target) -> None:
    sink = target.sink()
    taken: list[object] = []

    def take() -> None:
        for _ in range(300):
            sink.add_report(False, "x")
            taken.extend(reports(sink))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) + len(reports(sink)) <= 1200
    assert sink.take_report() is None


def test_a_writer_on_it_warns_on_the_next_call_each_time(target: Target) -> None:
    writer = target.writer()
    writer.add_scalar("a", 0, 0)
    writer.flush()
    for episode in range(2):
        target.fail()
        writer.add_scalar("a", 1, 2 * episode + 1)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("default")
            writer.flush()
            writer.add_scalar("a", 1, 2 * episode + 2)
            writer.flush()
        assert [(warning.category, warning.filename) for warning in warned] == [(WriteWarning, __file__)]
        assert str(target.folder) in str(warned[0].message)
        target.heal()
        processes.until(lambda n=2 * episode + 2: _healed(writer, target, n))
    writer.close()


def _healed(writer: SummaryWriter, target: Target, step: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the old file is gone is said here
        writer.flush()
    return step in processes.steps(target.folder, "a")


# What only a stream has to fear.


def test_a_half_written_batch_damages_no_file(tmp_path: Path) -> None:
    target = StreamTarget(tmp_path)
    sink = target.sink()
    add(sink, range(10))
    sink.flush()
    target.factory.half_written = True
    add(sink, range(10, 20))
    sink.flush()
    target.heal()
    add(sink, range(20, 30))
    sink.close()
    first, second = processes.files(target.folder)
    whole = [event.step for event in processes.events(first, may_be_cut=True)][1:]
    assert whole == list(range(len(whole)))
    assert [event.step for event in processes.events(second)][1:] == list(range(10, 30))


def test_a_failing_target_is_not_littered_with_files(tmp_path: Path) -> None:
    target = StreamTarget(tmp_path)
    sink = target.sink()
    add(sink, range(1))
    sink.flush()
    add(sink, range(1, 2))
    for _ in range(20):
        target.factory.half_written, target.factory.failing = True, False
        sink.flush()
    target.heal()
    target.factory.half_written = False
    sink.close()
    assert len(processes.files(target.folder)) <= 2
    assert sorted(set(processes.steps(target.folder, "a", may_be_cut=True))) == [0, 1]


def test_a_stream_without_threads_writes_in_the_calling_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(stream_sink.threading, "Thread", NoThread)
    target = StreamTarget(tmp_path)
    sink = target.sink()
    add(sink, range(3))
    assert processes.steps(target.folder, "a") == [0, 1, 2]


def test_a_file_that_cannot_be_closed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = StreamTarget(tmp_path)

    def refuse(self: FolderFile) -> None:
        self._file.close()
        raise OSError("no close")

    monkeypatch.setattr(FolderFile, "close", refuse)
    sink = target.sink()
    add(sink, range(1))
    sink.close()
    ((failure, text),) = reports(sink)
    assert failure
    assert "no close" in text
