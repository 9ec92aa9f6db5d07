# SPDX-License-Identifier: Apache-2.0
"""Slurm beyond the contract, on a real cluster: refusals, preemption, dying nodes, arrays, a controller gone."""

from __future__ import annotations

import dataclasses
import signal
import sys
import textwrap
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.errors import ExecutorUnavailable, InvalidValue, UnitRefused
from aboard.executors import Slurm
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_parts import Resources
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason
from support.executor_benches import PATIENCE, Bench
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster

WHOLE_NODE = Resources(cpus=8)
TRAINING = """
    import sys, time
    from aboard import Run
    with Run() as run:
        checkpoint = run.resume()
        first = checkpoint.state["step"] + 1 if checkpoint else 0
        for step in range(first, 40):
            run.log_metrics({"step": step, "loss": 1 / (step + 1)}, step_name="step", stage="train")
            run.checkpoint({"step": step})
            print("step", step, flush=True)
            time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def cluster() -> Generator[SlurmCluster]:
    with slurm_cluster() as running:
        yield running


@pytest.fixture
def bench(cluster: SlurmCluster, tmp_path: Path) -> Generator[Bench]:
    made = Bench(Slurm(folder=str(tmp_path / "units")))
    yield made
    made.clear()


def _with(bench: Bench, **options: Any) -> Bench:
    made = dataclasses.replace(bench.executor, **options)
    return dataclasses.replace(bench, executor=made, handles=bench.handles)


@pytest.mark.parametrize(
    ("options", "told", "hint"),
    [
        ({"partition": "absent"}, "invalid partition", "sinfo -s"),
        ({"time_limit": "20-00"}, "time limit", "limits of the partitions"),
    ],
)
def test_what_slurm_refuses_is_told_with_the_next_step(
    bench: Bench, options: dict[str, Any], told: str, hint: str
) -> None:
    spec = bench.spec("true")
    with pytest.raises(UnitRefused, match=rf"(?i){told}") as refused:
        _with(bench, **options).executor.submit(spec)
    assert hint in refused.value.hint
    assert bench.executor.find(spec.id) is None


def test_resources_that_no_node_has_are_refused(bench: Bench) -> None:
    with pytest.raises(UnitRefused, match="More processors") as refused:
        bench.submit("true", resources=Resources(cpus=64))
    assert "sinfo" in refused.value.hint
    with pytest.raises(UnitRefused, match="generic resource"):
        bench.submit("true", resources=Resources(gpus=2, gpu_type="a100"))


def test_options_reach_slurm(bench: Bench, cluster: SlurmCluster, tmp_path: Path) -> None:
    asking = _with(bench, partition="high", time_limit="7", extra={"nice": "5", "exclusive": ""}, requeue=False)
    handle = asking.submit("sleep 60", resources=Resources(cpus=2, memory=100 << 20), labels={"team": "a"})
    shown = cluster.tell("scontrol", "--oneliner", "show", "job", _job(handle))
    for text in ("Partition=high", "TimeLimit=00:07:00", "Nice=5", "Requeue=0", "CPUs/Task=2", "Comment=team=a"):
        assert text in shown
    assert "MinMemoryNode=100M" in shown
    assert "OverSubscribe=NO" in shown


def test_lines_of_setup_come_before_the_unit(bench: Bench) -> None:
    handle = _with(bench, setup=("export FROM_SETUP=yes",)).submit("echo setup $FROM_SETUP")
    bench.ended(handle)
    assert bench.output(handle) == "setup yes\n"


@pytest.mark.parametrize("extra", [{"--nice": "5"}, {"array": "1-3"}, {"output": "x"}])
def test_options_that_are_not_for_others_are_refused(extra: dict[str, str]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(extra))):
        Slurm(extra=extra)


def test_a_unit_that_waits_says_why_and_can_be_stopped(bench: Bench) -> None:
    first = bench.submit("echo ready; sleep 60", resources=WHOLE_NODE)
    bench.until_printed(first, "ready")
    waiting = bench.submit("echo never", resources=WHOLE_NODE)
    until(lambda: "Resources" in bench.executor.status(waiting).message, PATIENCE)
    assert bench.executor.status(waiting).state is UnitState.PENDING
    bench.executor.stop(waiting)
    status = bench.ended(waiting)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    assert bench.output(waiting) == ""


def test_a_python_that_the_node_lacks_is_told(bench: Bench) -> None:
    status = bench.ended(_with(bench, python="/absent/python3").submit("true"))
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.NOT_STARTED), status
    assert "/absent/python3" in status.message


def test_a_job_that_others_cancelled_is_stopped(bench: Bench, cluster: SlurmCluster) -> None:
    handle = bench.submit("echo ready; sleep 60")
    bench.until_printed(handle, "ready")
    cluster.tell("scancel", _job(handle))
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status


def test_a_preempted_run_goes_on_where_it_was(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(TRAINING))
    store = tmp_path / "store"
    command = (str(Path(sys.executable).parent / "aboard"), "run", "--name", "long", "--", sys.executable, str(script))
    environment = {"ABOARD_STORE": str(store), "ABOARD_HOME": str(tmp_path / "home")}
    training = bench.submit(command=command, environment=environment, resources=WHOLE_NODE, grace=20.0)
    bench.until_printed(training, "step 5\n")
    urgent = _with(bench, partition="high").submit("echo urgent; sleep 2", resources=WHOLE_NODE)
    until(lambda: bench.executor.status(training).state is UnitState.PENDING, PATIENCE)
    assert bench.ended(urgent).has_succeeded
    status = bench.ended(training)
    assert (status.reason, status.attempt) == (EndReason.COMPLETED, 2), (status, bench.output(training))
    with aboard.open(str(store)) as opened:
        (series,) = [run.scalars["loss"] for run in opened.runs.values() if "loss" in run.scalars]
        assert list(series.steps) == list(range(40))


def test_a_unit_whose_node_died_starts_again_when_it_is_back(bench: Bench, cluster: SlurmCluster) -> None:
    handle = bench.submit("echo began; sleep 3; echo ended")
    once = _with(bench, requeue=False).submit("echo ready; sleep 60")
    bench.until_printed(handle, "began")
    bench.until_printed(once, "ready")
    cluster.kill_node()
    until(lambda: bench.executor.status(handle).state is UnitState.PENDING, 90)
    failed = bench.executor.status(once)
    assert (failed.state, failed.reason) == (UnitState.FAILED, EndReason.NODE_FAILED), failed
    cluster.start_node()
    status = bench.ended(handle)
    assert (status.reason, status.attempt) == (EndReason.COMPLETED, 2), status
    assert bench.output(handle) == "began\nbegan\nended\n"


def test_an_array_is_one_job_of_many_units(bench: Bench) -> None:
    executor = bench.executor
    assert isinstance(executor, Slurm)
    specs = [bench.spec("echo unit $NUMBER; sleep 0.5", environment={"NUMBER": str(number)}) for number in range(6)]
    handles = executor.submit_array(specs, at_once=2)
    bench.handles += handles
    assert executor.submit_array(specs, at_once=2) == handles
    assert len({_job(handle).partition("_")[0] for handle in handles}) == 1
    executor.stop(handles[5])
    for number, handle in enumerate(handles[:5]):
        assert bench.ended(handle).has_succeeded
        assert bench.output(handle) == f"unit {number}\n"
    assert bench.ended(handles[5]).reason is EndReason.STOPPED
    with pytest.raises(InvalidValue, match="does not fit"):
        executor.submit_array([specs[0], bench.spec("true", timeout=5.0)])


def test_a_submitter_that_died_after_sbatch_left_a_job_that_is_found(bench: Bench) -> None:
    spec = bench.spec("echo once; sleep 1")
    handle = bench.submit_spec(spec)
    (Path(handle.place["folder"]) / "job.json").unlink()  # what it would have written next
    assert bench.executor.find(spec.id) == handle
    assert bench.submit_spec(spec) == handle
    assert bench.ended(handle).has_succeeded
    assert bench.output(handle) == "once\n"


def test_while_the_controller_is_gone_nothing_is_lost(bench: Bench, cluster: SlurmCluster) -> None:
    handle = bench.submit("echo began; sleep 4; echo ended")
    bench.until_printed(handle, "began")
    cluster.controller.send_signal(signal.SIGTERM)
    cluster.controller.wait()
    try:
        with pytest.raises(ExecutorUnavailable, match="Slurm does not answer") as refused:
            bench.executor.submit(bench.spec("true"))
        assert "scontrol ping" in refused.value.hint
        # How it ended stands in its folder, whoever answers.
        until(lambda: "ended" in bench.output(handle), PATIENCE)
        time.sleep(1)
        assert bench.executor.status(handle).has_succeeded
    finally:
        cluster.start_controller()


def _job(handle: UnitHandle) -> str:
    import json

    return json.loads((Path(handle.place["folder"]) / "job.json").read_text())["job"]
