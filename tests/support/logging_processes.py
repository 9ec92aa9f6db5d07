# SPDX-License-Identifier: Apache-2.0
"""Processes that log while they are killed, end or fork, and the checks of what they leave.

`tests/integration` does each once, `tests/soak` repeats it.
"""

from __future__ import annotations

import signal
from pathlib import Path

from support import processes

_SUDDEN = """
    import os, sys, time
    from aboard import SummaryWriter

    writer = SummaryWriter(sys.argv[1])
    step = 0
    while not os.path.exists(sys.argv[2]):
        writer.add_scalar("paced", step, step)
        step += 1
        time.sleep(0.001)
    os._exit(3)
"""
_EXIT_CODES = {"kill": -signal.SIGKILL, "terminate": -signal.SIGTERM, "os._exit": 3}
WHILE_EXITING = ("add_scalar('n', n, n)", "flush()", "add_histogram('n', values, n)")


def all_steps(folder: Path, tag: str) -> list[int]:
    """The steps of one series in all files together, sorted."""
    return sorted(step for steps in steps_by_file(folder, tag) for step in steps)


def steps_by_file(folder: Path, tag: str) -> list[list[int]]:
    """The steps of one series in each file that has any."""
    found = (processes.many_steps(path).get(tag, []) for path in processes.files(folder))
    return [steps for steps in found if steps]


def check_sudden_end(folder: Path, end: str, *, least: int = 100) -> None:
    """End a process that logs, once so many points are in its file; they are there then, without a gap."""
    run, mark = folder / "run", folder / "end"
    process = processes.start(folder, _SUDDEN, run, mark)

    def there() -> list[int]:
        return processes.steps(run, "paced", may_be_cut=True) if run.exists() else []

    processes.until(lambda: len(there()) >= least)
    seen = there()
    if end == "os._exit":
        mark.touch()
    else:
        getattr(process, end)()
    assert processes.finish(process).code == _EXIT_CODES[end]
    left = there()
    assert left == list(range(len(left)))
    assert len(left) >= len(seen)


def check_exit_while_logging(folder: Path, what: str) -> None:
    """End the main thread while daemon threads go on with `writer.<what>`."""
    script = f"""
        import sys, threading, time
        import numpy as np
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        values = np.ones(10)
        counts = [0] * 4

        def log(index):
            while True:
                n = counts[index] = counts[index] + 1
                writer.{what}
                time.sleep(0.0001)

        for step in range(1000):
            writer.add_scalar("before", step, step)
        for index in range(4):
            threading.Thread(target=log, args=(index,), daemon=True).start()
        while min(counts) < 20:
            time.sleep(0.001)
        writer.add_scalar("last", 1, 1)
    """
    ended = processes.succeed(folder, script, folder / "run")
    assert ended.err == ""
    assert processes.steps(folder / "run", "before", may_be_cut=True) == list(range(1000))
    assert processes.steps(folder / "run", "last", may_be_cut=True) == [1]


def check_forks_while_logging(folder: Path, forks: int) -> None:
    """Fork while four threads log; parent and children are complete, and count the steps of a shared writer once."""
    script = """
        import os, sys, threading, time
        import numpy as np
        from aboard import GlobalSummaryWriter, SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        shared = GlobalSummaryWriter(sys.argv[1] + "/shared")
        # What Python itself cannot do: a module that one thread imports during a fork is lost to the child.
        writer.add_image("first", np.zeros((1, 50, 50)), 0)
        stop = threading.Event()
        counts = [0] * 4

        def log(index):
            while not stop.is_set():
                writer.add_scalar(f"t{index}", 0, counts[index])
                counts[index] += 1
                shared.add_scalar("shared", 0)
                if index == 0:
                    writer.flush()
                if index == 1 and counts[index] % 10 == 0:
                    writer.add_image("picture", np.zeros((1, 50, 50)), 0)
                time.sleep(0.0005)

        threads = [threading.Thread(target=log, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        children = []
        for number in range(int(sys.argv[2])):
            child = os.fork()
            if not child:
                for step in range(20):
                    writer.add_scalar(f"c{number}", 0, step)
                    shared.add_scalar("shared", 0)
                writer.add_image("picture", np.zeros((1, 50, 50)), number)
                writer.close()
                shared.close()
                os._exit(0)
            children.append(child)
            time.sleep(0.02)
        codes = [os.waitpid(child, 0)[1] for child in children]
        stop.set()
        for thread in threads:
            thread.join()
        print(*counts)
        sys.exit(any(codes))
    """
    ended = processes.succeed(folder, script, folder / "run", forks)
    counts = [int(count) for count in ended.out.split()]
    for index, count in enumerate(counts):
        assert steps_by_file(folder / "run", f"t{index}") == [list(range(count))]
    for number in range(forks):
        assert steps_by_file(folder / "run", f"c{number}") == [list(range(20))]
    shared = all_steps(folder / "run" / "shared", "shared")
    assert shared == list(range(sum(counts) + 20 * forks))
