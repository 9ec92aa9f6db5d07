# SPDX-License-Identifier: Apache-2.0
"""What is in the files after a process ended, in every way in which a process can end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import processes
from support.logging_processes import WHILE_EXITING, check_exit_while_logging, check_sudden_end


@pytest.mark.parametrize("end", ["kill", "terminate", "os._exit"])
def test_an_end_without_warning_loses_nothing_that_was_in_the_file(tmp_path: Path, end: str) -> None:
    """How soon points are in the file is measured in `test_latency.py`."""
    check_sudden_end(tmp_path, end)


ENDINGS = {
    "end of the script": ("", 0),
    "sys.exit": ("sys.exit(4)", 4),
    "unhandled exception": ("raise ValueError('training failed')", 1),
    # The handler is set because a test run in the background inherits that SIGINT is ignored.
    "KeyboardInterrupt": (
        "from signal import *; import time; signal(SIGINT, default_int_handler); raise_signal(SIGINT); time.sleep(5)",
        -2,
    ),
    "exit in a thread of the pool": (
        "from concurrent import futures; futures.ThreadPoolExecutor().submit(lambda: writer.add_scalar('late', 1, 1))",
        0,
    ),
}


@pytest.mark.parametrize(("ending", "code"), ENDINGS.values(), ids=list(ENDINGS))
def test_an_orderly_end_without_close_loses_nothing(tmp_path: Path, ending: str, code: int) -> None:
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from aboard import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "for step in range(500):\n"
        "    writer.add_scalar('scalar', step, step)\n"
        "for step in range(6):\n"
        "    writer.add_image('image', np.random.rand(3, 100, 100), step)\n"
        "    writer.add_video('video', np.random.rand(1, 4, 3, 40, 40), step)\n"
        "    writer.add_histogram('histogram', np.random.rand(1000), step)\n"
        "    writer.add_scalars('several', {'one': 1, 'two': 2}, step)\n"
        "    writer.add_embedding(np.random.rand(50, 3), tag=f'e{step}')\n"
        f"{ending}\n"
    )
    finished = processes.run(tmp_path, script, tmp_path / "run")
    assert finished.code == code, finished.err
    assert ("Traceback" in finished.err) == (code in {1, -2})
    found: dict[str, list[int]] = {}
    for path in processes.files(tmp_path / "run"):
        for event in processes.events(path):
            for value in event.summary.value:
                found.setdefault(f"{path.parent.name}:{value.tag}", []).append(event.step)
    six = list(range(6))
    expected = {
        "run:scalar": list(range(500)),
        "run:image": six,
        "run:video": six,
        "run:histogram": six,
        "one:several": six,
        "two:several": six,
    }
    if "late" in ending:
        expected["run:late"] = [1]
    assert found == expected
    assert len(list((tmp_path / "run").rglob("tensors.tsv"))) == 6


@pytest.mark.parametrize("what", WHILE_EXITING)
def test_exit_while_daemon_threads_log_neither_hangs_nor_crashes(tmp_path: Path, what: str) -> None:
    check_exit_while_logging(tmp_path, what)


def test_threads_that_log_after_the_main_one_are_waited_for(tmp_path: Path) -> None:
    script = """
        import sys, threading, time
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])

        def log(tag):
            for step in range(300):
                writer.add_scalar(tag, step, step)
                time.sleep(0.001)

        for index in range(3):
            threading.Thread(target=log, args=(f"t{index}",)).start()
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    for index in range(3):
        assert processes.steps(tmp_path / "run", f"t{index}") == list(range(300))


@pytest.mark.parametrize("call", ["add_scalar('a', 1, 1)", "add_image('a', big, 1)", "add_histogram('a', big, 1)"])
def test_a_writer_that_nobody_holds_any_more_has_written_everything(tmp_path: Path, call: str) -> None:
    script = f"""
        import sys
        import numpy as np
        from aboard import SummaryWriter

        big = np.random.rand(3, 200, 200)
        for index in range(5):
            writer = SummaryWriter(f"{{sys.argv[1]}}/{{index}}")
            writer.{call}
        del writer
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    assert len(processes.files(tmp_path / "run")) == 5
    assert processes.steps(tmp_path / "run", "a") == [1] * 5


def test_logging_in_exit_handlers_is_kept(tmp_path: Path) -> None:
    script = """
        import atexit, sys
        import numpy as np

        atexit.register(lambda: writer.add_scalar("registered before aboard", 1, 1))  # runs after aboard's own
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        atexit.register(lambda: writer.add_scalar("a", 1, 1))
        atexit.register(lambda: writer.add_image("b", np.zeros((1, 8, 8)), 1))
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    tags = {tag for tag, _, _ in processes.scalars(tmp_path / "run")}
    assert tags == {"a", "b", "registered before aboard"}


def test_a_signal_handler_that_closes_the_writer_does_not_hang(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        from aboard import GlobalSummaryWriter, SummaryWriter, register_writer_factory

        class Factory:
            def open(self, path):
                return open(path.removeprefix("memo:"), "wb")

            def directory_check(self, path):
                os.makedirs(path.removeprefix("memo:"), exist_ok=True)

        register_writer_factory("memo", Factory())
        writers = [SummaryWriter(sys.argv[1]), SummaryWriter(f"memo:{sys.argv[1]}/stream")]
        shared = GlobalSummaryWriter(sys.argv[1])
        handled = 0

        def handle(*_):
            global handled
            handled += 1
            for writer in writers:
                writer.add_scalar("handler", handled, handled)
                writer.close()
            shared.add_scalar("shared", 0)
            if handled <= 50:
                signal.setitimer(signal.ITIMER_REAL, 0.002)  # never while a handler runs

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        step = 0
        while handled <= 50:
            step += 1
            for writer in writers:
                writer.add_scalar("a", step, step)
            shared.add_scalar("shared", 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(step, handled)
    """
    ended = processes.succeed(tmp_path, script, tmp_path / "run")
    step, handled = map(int, ended.out.split())
    found = [step for path in processes.files(tmp_path / "run") for step in processes.many_steps(path).get("a", [])]
    assert sorted(found) == sorted(2 * list(range(1, step + 1)))
    assert handled > 50


def test_a_use_after_close_goes_into_a_new_file_and_is_kept_at_exit(tmp_path: Path) -> None:
    script = """
        import sys
        from aboard import SummaryWriter

        with SummaryWriter(sys.argv[1]) as writer:
            writer.add_scalar("a", 0, 0)
        writer.close()
        writer.add_scalar("a", 1, 1)
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    first, second = processes.files(tmp_path / "run")
    assert [event.step for event in processes.events(first)] == [0, 0]
    assert [event.step for event in processes.events(second)] == [0, 1]


def test_writers_in_one_folder_in_one_second_never_share_a_file(tmp_path: Path) -> None:
    script = """
        import sys
        from aboard import SummaryWriter

        writers = [SummaryWriter(sys.argv[1]) for _ in range(50)]
        for step, writer in enumerate(writers):
            writer.add_scalar("a", step, step)
    """
    started = [processes.start(tmp_path, script, tmp_path / "run") for _ in range(2)]
    for process in started:
        assert processes.finish(process).code == 0
    assert len(processes.files(tmp_path / "run")) == 100
    assert sorted(processes.steps(tmp_path / "run", "a")) == sorted(2 * list(range(50)))


def test_an_exit_with_warnings_as_errors_still_closes_every_writer(tmp_path: Path) -> None:
    script = """
        import shutil, sys, warnings
        import numpy as np
        from aboard import SummaryWriter

        warnings.simplefilter("error")
        failing = [SummaryWriter(f"{sys.argv[1]}/failing{index}") for index in range(3)]
        writer = SummaryWriter(f"{sys.argv[1]}/good")
        for one in failing:
            one.add_scalar("a", 0, 0)
            one.flush()
            shutil.rmtree(one.logdir)
            open(one.logdir, "w").close()
            one.add_scalar("a", 1, 1)
        writer.add_scalar("a", 0, 0)
        writer.add_image("b", np.random.rand(3, 500, 500), 0)
    """
    ended = processes.run(tmp_path, script, tmp_path / "run")
    assert len(re.findall("WriteWarning: cannot create an event file", ended.err)) == 3
    good = [event.step for path in processes.files(tmp_path / "run" / "good") for event in processes.events(path)]
    assert good == [0, 0, 0]


def test_a_file_cut_at_any_byte_reads_up_to_there(tmp_path: Path) -> None:
    script = """
        import sys
        from aboard import SummaryWriter

        with SummaryWriter(sys.argv[1]) as writer:
            for step in range(20):
                writer.add_scalar("a", step, step)
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    (path,) = processes.files(tmp_path / "run")
    data = path.read_bytes()
    whole = processes.events(path)
    cut = tmp_path / "events.out.tfevents.1.host.1.0"
    for size in range(0, len(data), 7):
        cut.write_bytes(data[:size])
        there = processes.events(cut, may_be_cut=True)
        assert there == whole[: len(there)]
        assert sum(event.ByteSize() + processes.FRAME_BYTES for event in whole[: len(there) + 1]) > size
