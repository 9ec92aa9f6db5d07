# SPDX-License-Identifier: Apache-2.0
"""`Run` without `aboard run`: its helper ships everything, however the training ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from support.processes import until
from support.runs import Kept, Machine, finish, status_of, until_status, well


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "one", str(tmp_path / "store"))


@pytest.fixture
def kept(machine: Machine) -> Kept:
    return Kept.at(machine.store)


def test_all_that_a_script_says_is_in_the_store(machine: Machine, kept: Kept) -> None:
    script = """
        import argparse, pathlib, sys
        import numpy as np
        from aboard import Run

        pathlib.Path("model.txt").write_text("weights")
        with Run(workspace="lab", experiment="digits", hparams={"lr": 0.01, "net": {"depth": 3}}, tags=["try"]) as run:
            for epoch in range(3):
                row = {"epoch": epoch, "loss": 1 / (epoch + 1), "acc": np.float32(0.5)}
                run.log_metrics(row, step_name="epoch", stage="train")
                run.log_metrics({"epoch": epoch, "loss": 2.0}, step_name="epoch", stage="validation/clean")
            run.log_metrics({"alone": 7})
            run.log_metrics({"alone": 8})
            for value in range(4):
                run.log_batch_metrics({"loss": value})
            run.log_hparam("seed", np.int64(4))
            run.log_event("lr drop", {"from": 0.1, "to": 0.01}, step=2)
            run.log_artifact("model.txt")
            run.tag(data="v3")
            run.note("looks good")
            run.writer("train").add_histogram("weights", np.arange(10.0), 1)
    """
    well(machine.python(script))
    run, summary = kept.run(), kept.summary()
    assert (run.workspace, run.experiment, str(run.status)) == ("lab", "digits", "completed")
    assert run.name == f"run-{run.uid[-8:].lower()}"
    assert run.hparams == {"lr": 0.01, "net.depth": 3, "seed": 4}
    assert run.tags == {"try": "", "data": "v3"}
    assert [note.text for note in run.notes] == ["looks good"]
    assert kept.points("train", "loss") == [(0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3))]
    assert kept.points("validation/clean", "loss") == [(0, 2.0), (1, 2.0), (2, 2.0)]
    assert kept.points("train", "epoch") == []
    assert kept.points("", "alone") == [(1, 7.0), (2, 8.0)]
    assert kept.points("train", "batch/loss") == [(1, 0.0), (2, 1.0), (3, 2.0), (4, 3.0)]
    assert run.metrics["train/loss"].last.value == pytest.approx(1 / 3)
    assert run.metrics["train/loss"].count == 3
    assert run.metrics["alone"].last.step == 2
    (event,) = summary.annotations
    assert (event["name"], event["step"], event["data"]) == ("lr drop", 2, {"from": 0.1, "to": 0.01})
    assert kept.content("output/artifacts/model.txt") == b"weights"
    details: Any = run.attempts[0].details
    assert details["python"]["packages"]["numpy"]


ENDINGS = {
    "raise ValueError('too small')": (1, "failed", "ValueError: too small"),
    "sys.exit(3)": (3, "failed", "sys.exit(3)"),
    "sys.exit(0)": (0, "completed", ""),
    "os.kill(os.getpid(), 15)": (-15, "failed", "ended by SIGTERM"),
    "os.kill(os.getpid(), 9)": (-9, "failed", "the training process was killed"),
    "raise KeyboardInterrupt": (-2, "cancelled", "KeyboardInterrupt"),
    "run.finish('cancelled', 'enough')": (0, "cancelled", "enough"),
}


def test_how_it_ended_is_known(tmp_path: Path) -> None:
    script = """
        import os, sys
        from aboard import Run
        run = Run()
        for step in range(1000):
            run.log_metrics({"loss": step}, stage="train")
        run.flush()
        exec(sys.argv[1])
    """
    machines = {
        ending: Machine(tmp_path / str(place), str(tmp_path / f"s{place}")) for place, ending in enumerate(ENDINGS)
    }
    started = {ending: machine.start_python(script, ending) for ending, machine in machines.items()}
    for ending, (code, status, reason) in ENDINGS.items():
        ended, kept = finish(started[ending]), Kept.at(machines[ending].store)
        assert ended.code == code, f"{ending}: {ended.err}"
        until_status(kept, status)
        until(lambda kept=kept, reason=reason: kept.run().reason.startswith(reason))
        assert [step for step, _ in kept.points("train", "loss")] == list(range(1, 1001)), ending


def test_a_handler_of_the_training_is_called_and_may_go_on(machine: Machine, kept: Kept) -> None:
    script = """
        import os, signal
        from aboard import Run
        signal.signal(signal.SIGTERM, lambda *_: print("handled", flush=True))
        with Run() as run:
            os.kill(os.getpid(), signal.SIGTERM)
            run.log_metrics({"loss": 1})
        assert signal.getsignal(signal.SIGTERM).__name__ == "<lambda>"
    """
    assert well(machine.python(script)).out == "handled\n"
    assert status_of(kept) == "completed"


def test_a_helper_that_is_killed_is_replaced(machine: Machine, kept: Kept) -> None:
    script = """
        import pathlib, time
        from aboard import Run
        with Run() as run:
            run.log_metrics({"loss": 1})
            while not pathlib.Path("go").exists():
                time.sleep(0.02)
    """
    process = machine.start_python(script)
    until(lambda: list(machine.home.glob("spool/*/progress.json")))
    (spool,) = machine.spools()
    os.kill(int((spool / "lock").read_text()), signal.SIGKILL)
    (machine.folder / "go").touch()
    well(finish(process))
    assert status_of(kept) == "completed"
    assert kept.points("", "loss") == [(1, 1.0)]


def test_event_files_go_where_the_script_wants_them(machine: Machine, kept: Kept) -> None:
    script = """
        from aboard import Run
        run = Run(tensorboard_path="boards")
        run.log_metrics({"loss": 5}, stage="test")
        run.close()
        print(run.tensorboard_dir)
    """
    first = Path(well(machine.python(script)).out.strip())
    second = Path(well(machine.python(script)).out.strip())
    assert first.parent == second.parent == machine.folder / "boards"
    assert first != second  # restarts stay apart
    assert len(list((first / "test").iterdir())) == 1
    for uid in kept.uids():
        assert kept.points("test", "loss", uid) == [(1, 5.0)]


def test_a_name_that_is_there_goes_on_from_its_checkpoint_on_another_machine(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    script = """
        from pathlib import Path
        from aboard import Run
        with Run(name="digits", hparams={"lr": 1}) as run:
            found = run.resume()
            first = found.state["epoch"] + 1 if found else 0
            print(first, found.file.read_text() if found else None, run.attempt)
            for epoch in range(first, first + 3):
                run.log_metrics({"epoch": epoch, "loss": epoch}, "epoch", "train")
                Path("model.txt").write_text(f"after {epoch}")
                run.checkpoint({"epoch": epoch}, "model.txt")
    """
    assert well(Machine(tmp_path / "one", store).python(script)).out == "0 None 1\n"
    assert well(Machine(tmp_path / "two", store).python(script)).out == "3 after 2 2\n"
    kept = Kept.at(store)
    assert sorted(kept.points("train", "loss")) == [(step, float(step)) for step in range(6)]
    assert [str(attempt.status) for attempt in kept.run().attempts] == ["completed", "completed"]


def test_without_a_store_the_training_ends_in_time_and_sync_ships_it_later(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    machine = Machine(tmp_path / "one", str(tmp_path / "file" / "store"))
    script = """
        from aboard import Run
        run = Run(flush_timeout=2)
        run.log_metrics({"loss": 1})
        run.finish()
    """
    ended = well(machine.python(script))
    assert "aboard sync" in ended.err
    (spool,) = machine.spools()
    os.kill(int((spool / "lock").read_text()), signal.SIGKILL)
    (tmp_path / "file").unlink()
    assert "SHIPPED" in well(machine.aboard("sync")).out
    kept = Kept.at(machine.store)
    assert (status_of(kept), kept.points("", "loss")) == ("completed", [(1, 1.0)])
    assert "COMPLETE" in well(machine.aboard("sync", spool)).out
    assert "REMOVED" in well(machine.aboard("sync", "--clean")).out
    assert machine.spools() == []


def test_children_and_ranks(machine: Machine, kept: Kept) -> None:
    script = """
        import os
        from aboard import Run
        os.environ["RANK"] = "1"
        silent = Run()
        silent.log_metrics({"loss": 5}, stage="train")
        silent.checkpoint({"epoch": 1})
        silent.finish()
        os.environ["RANK"] = "0"
        run = Run()
        run.log_metrics({"loss": 1}, stage="train")
        if (child := os.fork()) == 0:
            run.log_metrics({"loss": 2}, stage="train")
            run.tag("child")
            run.finish("failed")
            os._exit(0)
        os.waitpid(child, 0)
    """
    well(machine.python(script))
    assert status_of(kept) == "completed"
    assert sorted(kept.points("train", "loss")) == [(1, 1.0), (2, 2.0)]
    assert kept.run().tags == {"child": ""}


def test_a_training_process_imports_nothing_heavy(machine: Machine) -> None:
    script = """
        import sys
        from aboard import Run
        with Run() as run:
            run.log_metrics({"loss": 1}, stage="train")
            run.log_hparams({"lr": 1})
        heavy = {"obstore", "sqlalchemy", "tensorboard", "google", "http.client", "urllib.request", "requests", "typer",
                 "psutil", "asyncio", "starlette", "aboard.store", "aboard.upload", "aboard.run.supervisor"}
        print(sorted(heavy & set(sys.modules)))
    """
    assert well(machine.python(script)).out == "[]\n"
