# SPDX-License-Identifier: Apache-2.0
"""Writers in more than one process: fork, multiprocessing in each of its ways, pools, and one folder for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import processes
from support.logging_processes import all_steps, check_forks_while_logging, steps_by_file

START_METHODS = ["fork", "spawn", "forkserver"]


def test_parent_and_child_of_a_fork_are_both_complete(tmp_path: Path) -> None:
    script = """
        import os, sys
        import numpy as np
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1], purge_step=0)
        for step in range(1000):
            writer.add_scalar("parent", step, step)
        for step in range(5):
            writer.add_image("picture", np.random.rand(3, 50, 50), step)
        writer.add_scalars("several", {"one": 1}, 0)
        child = os.fork()
        name = "parent" if child else "child"
        for step in range(1000, 2000):
            writer.add_scalar(name, step, step)
        writer.add_scalars("several", {"one": 1}, os.getpid())
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    top = [path for path in processes.files(tmp_path / "run") if path.parent.name == "run"]
    parent, child = sorted(top, key=lambda path: "child" in processes.many_steps(path))
    assert processes.many_steps(parent) == {"parent": list(range(2000))}
    assert processes.many_steps(child) == {"child": list(range(1000, 2000))}
    pictures = [event.step for event in processes.events(parent) for v in event.summary.value if v.tag == "picture"]
    assert pictures == list(range(5))
    starts = [path for path in top for event in processes.events(path) if event.HasField("session_log")]
    assert starts == [parent]
    several = processes.steps(tmp_path / "run", "several")
    assert several.count(0) == 1
    assert len(several) == 3


@pytest.mark.parametrize("ending", ["sys.exit()", "os._exit(0)"])
def test_a_child_that_logs_nothing_leaves_no_trace(tmp_path: Path, ending: str) -> None:
    script = f"""
        import os, sys
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        for step in range(100):
            writer.add_scalar("a", step, step)
        child = os.fork()
        if not child:
            {ending}
        os.waitpid(child, 0)
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    assert [processes.many_steps(path) for path in processes.files(tmp_path / "run")] == [{"a": list(range(100))}]


def test_forks_while_threads_log(tmp_path: Path) -> None:
    check_forks_while_logging(tmp_path, forks=5)


@pytest.mark.parametrize("method", START_METHODS)
def test_multiprocessing_with_a_writer_as_argument_and_as_global(tmp_path: Path, method: str) -> None:
    script = """
        import multiprocessing, sys, threading, time
        import numpy as np
        from aboard import SummaryWriter

        folder = sys.argv[1]
        everywhere = SummaryWriter(folder + "/global")

        def work(writer, number):
            for step in range(50):
                writer.add_scalar("argument", number, number * 50 + step)
                everywhere.add_scalar("global", number, number * 50 + step)
            writer.add_image("picture", np.random.rand(3, 50, 50), number)
            thread = threading.Thread(target=late, args=(writer, number))
            thread.start()  # and is not waited for

        def late(writer, number):
            for step in range(50):
                writer.add_scalar("thread", number, number * 50 + step)
                time.sleep(0.001)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[2])
            writer = SummaryWriter(folder + "/argument", purge_step=0)
            for step in range(100):
                writer.add_scalar("parent", 0, step)
            children = [context.Process(target=work, args=(writer, number)) for number in range(2)]
            for child in children:
                child.start()
            for child in children:
                child.join()
            sys.exit(any(child.exitcode for child in children))
    """
    ended = processes.succeed(tmp_path, script, tmp_path / "run", method)
    assert ended.err == ""
    folder = tmp_path / "run"
    assert steps_by_file(folder / "argument", "parent") == [list(range(100))]
    for series, where in (("argument", "argument"), ("thread", "argument"), ("global", "global")):
        assert all_steps(folder / where, series) == list(range(100))
    found = [event for path in processes.files(folder / "argument") for event in processes.events(path)]
    assert sorted(e.step for e in found for v in e.summary.value if v.tag == "picture") == [0, 1]
    assert [e.step for e in found if e.HasField("session_log")] == [0]


def test_a_process_pool(tmp_path: Path) -> None:
    script = """
        import sys
        from concurrent.futures import ProcessPoolExecutor
        from aboard import SummaryWriter

        writer = None

        def work(number):
            global writer
            writer = writer or SummaryWriter(sys.argv[1])
            writer.add_scalar("a", number, number)
            return number

        if __name__ == "__main__":
            with ProcessPoolExecutor(3) as pool:
                assert sorted(pool.map(work, range(200), chunksize=5)) == list(range(200))
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    assert sorted(processes.steps(tmp_path / "run", "a")) == list(range(200))


@pytest.mark.parametrize("method", START_METHODS)
def test_a_global_writer_counts_every_step_exactly_once(tmp_path: Path, method: str) -> None:
    script = """
        import multiprocessing, sys, threading
        from aboard import GlobalSummaryWriter

        def work(writer):
            threads = [threading.Thread(target=log, args=(writer,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        def log(writer):
            for _ in range(100):
                writer.add_scalar("a", 1)
                writer.add_text("b", "text")

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[2])
            writer = GlobalSummaryWriter(sys.argv[1])
            writer.add_scalar("a", 1)
            # Not joined here: multiprocessing waits for them at the end, and they still count then.
            for _ in range(3):
                context.Process(target=work, args=(writer,)).start()
            work(writer)
    """
    ended = processes.succeed(tmp_path, script, tmp_path / "run", method, TMPDIR=str(tmp_path))
    assert ended.err == ""
    assert all_steps(tmp_path / "run", "a") == list(range(801))
    texts = [s for tag, s, _ in processes.scalars(tmp_path / "run") if tag.startswith("b")]
    assert sorted(texts) == list(range(800))
    assert list(tmp_path.glob("aboard-steps-*")) == []


def test_four_threads_in_each_of_four_processes_into_one_folder(tmp_path: Path) -> None:
    script = """
        import sys, threading
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])

        def log(tag):
            for step in range(1000):
                writer.add_scalar(tag, step, step)

        threads = [threading.Thread(target=log, args=(f"p{sys.argv[2]}t{index}",)) for index in range(4)]
        for thread in threads:
            thread.start()
    """
    started = [processes.start(tmp_path, script, tmp_path / "run", number) for number in range(4)]
    for process in started:
        ended = processes.finish(process)
        assert (ended.code, ended.err) == (0, "")
    paths = processes.files(tmp_path / "run")
    assert len(paths) == 4
    found = {tag: steps for path in paths for tag, steps in processes.many_steps(path).items()}
    assert found == {f"p{number}t{index}": list(range(1000)) for number in range(4) for index in range(4)}


def test_a_subprocess_started_while_logging_holds_no_file_of_the_writer(tmp_path: Path) -> None:
    script = """
        import subprocess, sys
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        writer.add_scalar("a", 0, 0)
        listing = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False)
        assert "tfevents" not in listing.stdout, listing.stdout
        writer.add_scalar("a", 1, 1)
    """
    processes.needs("" if Path("/proc/self/fd").exists() else "there is no /proc")
    processes.succeed(tmp_path, script, tmp_path / "run")
    assert processes.steps(tmp_path / "run", "a") == [0, 1]


def test_the_child_of_a_fork_may_fork_again(tmp_path: Path) -> None:
    script = """
        import os, sys
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        for generation in range(5):
            for step in range(10):
                writer.add_scalar(f"g{generation}", 0, step)
            child = os.fork()
            if child:
                assert os.waitpid(child, 0)[1] == 0
                break
    """
    processes.succeed(tmp_path, script, tmp_path / "run")
    for generation in range(5):
        assert steps_by_file(tmp_path / "run", f"g{generation}") == [list(range(10))]
