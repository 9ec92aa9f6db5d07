# SPDX-License-Identifier: Apache-2.0
"""A store that cannot be reached, at the start, in between and at the end: training goes on, and nothing is lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fault_proxy import FaultProxy, fault_proxy
from support.killed_runs import check_whole, killed_run
from support.object_servers import S3Server
from support.processes import until
from support.runs import Kept, Machine, finish, status_of, well

STEPS = """
    import pathlib, time
    from aboard import Run
    run = Run()
    for step in range(10):
        run.log_metrics({"step": step, "loss": step}, "step", "train")
    run.flush()
    print("half", flush=True)
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    for step in range(10, 20):
        run.log_metrics({"step": step, "loss": step}, "step", "train")
"""


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def machine(tmp_path: Path, s3_server: S3Server, proxy: FaultProxy) -> Machine:
    environment = {**s3_server.environment(), "AWS_ENDPOINT_URL": proxy.endpoint}
    return Machine(tmp_path / "one", s3_server.new_uri(), environment)


@pytest.fixture
def kept(machine: Machine, s3_server: S3Server) -> Kept:
    return Kept.at(machine.store, s3_server.environment())


def all_steps(kept: Kept) -> list[int]:
    return sorted(step for step, _ in kept.points("train", "loss"))


def test_no_store_from_the_start(machine: Machine, kept: Kept, proxy: FaultProxy) -> None:
    proxy.cut()
    (machine.folder / "go").touch()
    ended = well(machine.run(STEPS, "--name", "away", "--flush-timeout", 0.5))
    assert "nobody knows whether there is a run 'away'" in ended.err
    assert ended.err.count("Everything is kept here and shipped later") == 1
    assert "left" in ended.err
    (spool,) = machine.spools()
    assert f"aboard sync {spool}" in ended.err
    proxy.heal()
    assert "SHIPPED" in well(machine.aboard("sync")).out
    assert (status_of(kept), all_steps(kept)) == ("completed", list(range(20)))
    assert kept.run().metrics["train/loss"].count == 20


def test_no_store_in_between(machine: Machine, kept: Kept, proxy: FaultProxy) -> None:
    process = machine.start_run(STEPS)
    until(lambda: status_of(kept) == "running" and kept.points("train", "loss"))
    proxy.cut()
    proxy.forget()
    (machine.folder / "go").touch()
    until(lambda: proxy.requests)  # which failed
    proxy.heal()
    well(finish(process))
    assert (status_of(kept), all_steps(kept)) == ("completed", list(range(20)))


def test_no_store_at_the_end_and_a_new_start_that_finishes_it(machine: Machine, kept: Kept, proxy: FaultProxy) -> None:
    process = machine.start_run(STEPS, "--name", "twice", "--flush-timeout", 0.5)
    until(lambda: status_of(kept) == "running" and kept.points("train", "loss"))
    proxy.cut()
    (machine.folder / "go").touch()
    ended = well(finish(process))
    assert "aboard sync" in ended.err
    proxy.heal()
    script = machine.script("import os; print(os.environ['ABOARD_ATTEMPT'])")
    ended = well(machine.aboard("run", "--name", "twice", "--", sys.executable, script))
    assert ended.out == "2\n"
    assert all_steps(kept) == list(range(20))
    assert [str(attempt.status) for attempt in kept.run().attempts] == ["completed", "completed"]


FAILING = """
    import pathlib, sys, time
    print("begun", flush=True)
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    sys.exit(3)
"""


@pytest.mark.parametrize(
    ("asks", "has_mark", "end"),
    [
        pytest.param(True, True, ("cancelled", "its job was cancelled"), id="cancelled"),
        pytest.param(True, False, ("preempted", "ended by SIGTERM"), id="preempted"),
        pytest.param(False, True, ("cancelled", "its job was cancelled"), id="cancelled without a signal"),
    ],
)
def test_an_end_that_is_wanted_while_a_failed_attempt_is_shipped_is_the_last(
    machine: Machine, kept: Kept, proxy: FaultProxy, tmp_path: Path, asks: bool, has_mark: bool, end: tuple[str, str]
) -> None:
    mark = tmp_path / "mark"
    process = machine.start_run(FAILING, "--restarts", 5, ABOARD_CANCEL_MARK=str(mark))
    until(lambda: status_of(kept) == "running")
    proxy.hold(method="PUT")
    (machine.folder / "go").touch()
    assert process.stderr is not None
    while b"shipping what is left" not in process.stderr.readline():
        assert process.poll() is None
    if has_mark:
        mark.touch()
    if asks:
        process.send_signal(signal.SIGTERM)
    proxy.release()
    ended = finish(process)
    assert (ended.code, ended.out) == (3, "begun\n")
    run = kept.run()
    assert (str(run.status), run.reason, len(run.attempts)) == (*end, 1)


@pytest.mark.parametrize("store", ["s3://no-such-bucket", "/dev/null/no-such-folder"])
def test_a_wrong_store_does_not_stop_the_training(machine: Machine, store: str) -> None:
    ended = well(machine.aboard("run", "--store", store, "--flush-timeout", 0.3, "--", "echo", "hello"))
    assert ended.out == "hello\n"
    assert store.rpartition("/")[2] in ended.err
    assert "aboard sync" in ended.err


def test_without_its_checkpoints_a_run_does_not_begin_anew(
    machine: Machine, kept: Kept, proxy: FaultProxy, tmp_path: Path
) -> None:
    (machine.folder / "go").touch()
    well(machine.run(STEPS + "    run.checkpoint(step=19)\n", "--name", "long"))
    other = Machine(tmp_path / "two", machine.store, machine.environment)
    proxy.answer(403, method="GET", path="/output/checkpoint/")
    ended = other.aboard("run", "--name", "long", "--", "echo", "started")
    assert (ended.code, ended.out) == (1, "")
    assert "the command was not started" in ended.err
    assert "Traceback" not in ended.err
    assert all_steps(kept) == list(range(20))


def test_killed_while_the_network_is_cut(machine: Machine, kept: Kept, proxy: FaultProxy, tmp_path: Path) -> None:
    killed_run(machine, proxy, kills=1, cut_in={1})
    assert str(kept.run().status) == "completed"
    check_whole(kept, tmp_path / "back")


def test_where_the_disk_will_be_gone_a_store_that_takes_nothing_is_known_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    machine = Machine(tmp_path / "one", str(tmp_path / "file" / "store"))
    ended = machine.run("print('trained')", "--must-ship")
    assert ended.code not in {0, 74}
    assert "trained" not in ended.out
    assert "the command was not started" in ended.err
    assert "Traceback" not in ended.err


def test_where_the_disk_will_be_gone_what_is_not_shipped_is_a_failure(tmp_path: Path) -> None:
    store = tmp_path / "store"
    machine = Machine(tmp_path / "one", str(store))
    script = f"""
        import os, pathlib
        os.rename({str(store)!r}, {str(tmp_path / "moved")!r})
        pathlib.Path({str(store)!r}).touch()
        pathlib.Path(os.environ["ABOARD_OUTPUT_DIR"], "weights").write_text("w")
    """
    ended = machine.run(script, "--must-ship", "--flush-timeout", 0.3)
    assert ended.code == 74, ended
    assert "that is lost when this disk is" in ended.err
    assert "aboard sync" not in ended.err
