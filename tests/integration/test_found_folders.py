# SPDX-License-Identifier: Apache-2.0
"""`aboard run` finds event files of scripts that know nothing of it, and leaves those of others alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from aboard import SummaryWriter
from support.processes import until
from support.runs import Kept, Machine, finish, status_of, well

QUICK = ("--resources-every", "0", "--no-code")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "one", str(tmp_path / "store"))


def test_a_folder_that_frameworks_use_when_nobody_names_one(machine: Machine) -> None:
    with SummaryWriter(machine.folder / "runs/old") as writer:
        writer.add_scalar("old", 1.0, 1)
    for path in (machine.folder / "runs/old").iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    script = """
        from aboard import SummaryWriter
        with SummaryWriter("runs/new/deep") as writer:
            writer.add_scalar("loss", 0.5, 7)
    """
    well(machine.run(script, *QUICK))
    kept = Kept.at(machine.store)
    assert kept.points("new/deep", "loss") == [(7, 0.5)]
    assert not any("old" in path for path in kept.rows())
    assert kept.run().metrics["new/deep/loss"].last.value == 0.5


def test_a_file_that_a_process_of_the_run_has_open(machine: Machine, tmp_path: Path) -> None:
    place = tmp_path / "anywhere/model"
    script = f"""
        import os, time
        from aboard import SummaryWriter
        writers = [SummaryWriter("{place}/" + stage) for stage in ("train", "eval")]
        for step in range(20):
            for writer in writers:
                writer.add_scalar("loss", step, step)
        for writer in writers:
            writer.flush()
        while not os.path.exists("go"):
            time.sleep(0.05)
    """
    process = machine.start_run(script, *QUICK)
    kept = Kept.at(machine.store)
    until(lambda: status_of(kept) == "running" and all(kept.points(stage, "loss") for stage in ("train", "eval")))
    (machine.folder / "go").touch()
    well(finish(process))
    for stage in ("train", "eval"):
        assert [step for step, _ in kept.points(stage, "loss")] == list(range(20))


def test_what_another_process_writes_meanwhile_is_not_taken(machine: Machine) -> None:
    script = """
        import os, time
        from aboard import SummaryWriter
        with SummaryWriter("runs/mine") as writer:
            writer.add_scalar("loss", 1.0, 1)
        open("started", "w").close()
        while not os.path.exists("written"):
            time.sleep(0.05)
        time.sleep(1.5)
    """
    process = machine.start_run(script, *QUICK)
    try:
        until((machine.folder / "started").exists)
        with SummaryWriter(
            machine.folder / "runs/others"
        ) as writer:  # a process that lives, and is no child of the run
            writer.add_scalar("loss", 2.0, 1)
            writer.flush()
            (machine.folder / "written").touch()
            well(finish(process))
    finally:
        if process.poll() is None:
            process.kill()
    kept = Kept.at(machine.store)
    assert kept.points("mine", "loss") == [(1, 1.0)]
    assert kept.points("others", "loss") == []


def test_the_store_is_told_to_the_command(machine: Machine) -> None:
    elsewhere = machine.folder / "other-store"
    script = "import os; print(os.environ['ABOARD_STORE'])"
    ended = well(machine.aboard("run", "--store", elsewhere, *QUICK, "--", sys.executable, "-c", script))
    assert ended.out == f"{elsewhere}\n"


def test_a_separate_run_within_a_run(machine: Machine) -> None:
    script = """
        from aboard import Run
        outer = Run()
        with Run(separate=True, hparams={"trial": 1}) as trial:
            assert trial.uid != outer.uid and trial.experiment == "search"
            trial.log_metrics({"loss": 0.5})
        outer.log_metrics({"best": 0.5})
    """
    well(machine.run(script, "--name", "outer", "--experiment", "search", *QUICK))
    kept = Kept.at(machine.store)
    runs = {kept.run(uid).name: uid for uid in kept.uids()}
    assert kept.points("", "best", runs.pop("outer")) == [(1, 0.5)]
    ((_, uid),) = runs.items()
    assert kept.points("", "loss", uid) == [(1, 0.5)]
    assert (kept.run(uid).experiment, kept.run(uid).hparams) == ("search", {"trial": 1})
