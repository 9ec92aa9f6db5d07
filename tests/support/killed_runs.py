# SPDX-License-Identifier: Apache-2.0
"""A training that is killed repeatedly while its network is cut and comes back, and the check that it is whole."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from support.fault_proxy import FaultProxy
from support.runs import Kept, Machine, finish, well

STEPS = 600
_TRAINING = """
    import os, random, sys, time
    from aboard import Run
    steps, kills = int(sys.argv[1]), int(sys.argv[2])
    run = Run()
    found = run.resume()
    first = found.state["step"] + 1 if found else 0
    dies = first + 60 + random.Random(run.attempt).randrange(60) if run.attempt <= kills else steps
    print(run.attempt, flush=True)
    for step in range(first, steps):
        run.log_metrics({"step": step, "loss": step * 0.5}, "step", "train")
        if step % 20 == 0:
            run.flush()
            run.checkpoint(step=step)
        if step == dies:
            os.kill(os.getpid(), 9)
        time.sleep(0.002)
"""


def killed_run(machine: Machine, proxy: FaultProxy, *, kills: int, cut_in: Container[int]) -> None:
    """Train under `aboard run`, which starts the training again after each kill; cut the network in some attempts."""
    words = ("run", "--restarts", kills, "--flush-timeout", 4, "--")
    process = machine.start(*words, *machine.python_command(_TRAINING, STEPS, kills))
    for attempt in range(1, kills + 2):
        assert process.stdout.readline() == f"{attempt}\n".encode()
        (proxy.cut if attempt in cut_in else proxy.heal)()
    well(finish(process))


def check_whole(kept: Kept, folder: Path) -> None:
    """Every step is in the store once, with the value that was logged."""
    import aboard
    from aboard.upload.restore import restore

    restore(kept.store, kept.uids()[0], folder)
    series = aboard.open(folder).runs["tensorboard/train"].scalars["loss"]
    assert list(series.steps) == list(range(STEPS))
    assert list(series.values) == [step * 0.5 for step in range(STEPS)]
