# SPDX-License-Identifier: Apache-2.0
"""Slurm beyond the contract, on a real cluster: refusals, preemption, dying nodes, arrays, a controller gone."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.errors import ExecutorUnavailable, InvalidValue, UnitRefused
from aboard.executors import Slurm
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Resources, UnitHandle
from support.executor_benches import PATIENCE, Bench
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster, slurm_number

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
            time.sleep(0.3)
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
        ({"constraint": "absent"}, "invalid feature", "sinfo -o '%P %f'"),
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
    with pytest.raises(UnitRefused, match="node configuration is not available") as refused:
        bench.submit("true", resources=Resources(gpus=2, gpu_type="a100"))
    assert "%G" in refused.value.hint


def test_gpus_are_given_to_one_unit_at_a_time(bench: Bench) -> None:
    script = "echo gpus $CUDA_VISIBLE_DEVICES; sleep 60"
    both = bench.submit(script, resources=Resources(gpus=2, gpu_type="t4"))
    bench.until_printed(both, "gpus 0,1\n")
    waiting = bench.submit(script, resources=Resources(gpus=1))
    until(lambda: "Resources" in bench.executor.status(waiting).message, PATIENCE)
    bench.executor.stop(both, grace=0)
    bench.until_printed(waiting, "gpus 0\n")


def test_options_reach_slurm(bench: Bench, cluster: SlurmCluster, tmp_path: Path) -> None:
    asking = _with(
        bench, partition="high", time_limit="7", constraint="fast", extra={"nice": "5", "exclusive": ""}, requeue=False
    )
    handle = asking.submit("sleep 60", resources=Resources(cpus=2, memory=100 << 20), labels={"team": "a"})
    shown = cluster.tell("scontrol", "--oneliner", "show", "job", slurm_number(handle))
    for text in (
        "Partition=high",
        "TimeLimit=00:07:00",
        "Nice=5",
        "Requeue=0",
        "CPUs/Task=2",
        "Comment=team=a",
        "Features=fast",
    ):
        assert text in shown
    assert "MinMemoryNode=100M" in shown
    assert "Features=fast" in shown
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
    cluster.tell("scancel", slurm_number(handle))
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status


def test_a_job_that_was_killed_as_a_whole_is_queued_again_by_who_looks(bench: Bench, cluster: SlurmCluster) -> None:
    handle = bench.submit("echo began; sleep 60", restarts=1)
    bench.until_printed(handle, "began")
    cluster.kill_job(handle)
    until(lambda: bench.executor.status(handle).can_go_on, PATIENCE)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda _: bench.executor.revive(handle), range(3))) == [False, False, True]
    bench.until_printed(handle, "began\nbegan\n")
    assert bench.executor.status(handle).attempt == 2
    cluster.kill_job(handle)
    status = bench.ended(handle)
    assert (status.state, status.exit_code, status.can_go_on) == (UnitState.FAILED, 137, False), status


def test_a_preempted_run_goes_on_where_it_was(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(TRAINING))
    store = tmp_path / "store"
    command = (str(Path(sys.executable).parent / "aboard"), "run", "--name", "long", "--", sys.executable, str(script))
    environment = {"ABOARD_STORE": str(store), "ABOARD_HOME": str(tmp_path / "home")}
    training = bench.submit(command=command, environment=environment, resources=WHOLE_NODE, grace=20.0)
    bench.until_printed(training, "step 5\n")
    urgent = _with(bench, partition="high").submit("echo urgent; sleep 6", resources=WHOLE_NODE)
    until(lambda: bench.executor.status(training).state is UnitState.PENDING, PATIENCE)
    assert bench.ended(urgent).has_succeeded
    status = bench.ended(training)
    assert (status.reason, status.attempt) == (EndReason.COMPLETED, 2), (status, bench.output(training))
    with aboard.open(str(store)) as opened:
        (series,) = [run.scalars["loss"] for run in opened.runs.values() if "loss" in run.scalars]
        assert list(series.steps) == list(range(40))


def test_a_unit_whose_node_died_starts_again_when_it_is_back(bench: Bench, cluster: SlurmCluster) -> None:
    once = _with(bench, requeue=False).submit("echo ready; sleep 60")
    bench.until_printed(once, "ready")
    handle = bench.submit("echo began; sleep 10; echo ended")
    bench.until_printed(handle, "began")
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
    assert len({slurm_number(handle).partition("_")[0] for handle in handles}) == 1
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


SUBMITTER = """
import json, sys
from aboard.executors import Slurm
from aboard.model.units import UnitSpec
folder, units, at_once = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
Slurm(folder=folder).submit_array([UnitSpec(**unit) for unit in units], at_once=at_once)
"""


def test_an_array_whose_submitter_was_killed_after_sbatch_is_found(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = bench.executor
    assert isinstance(executor, Slurm)
    specs = [bench.spec(f"echo unit {number}; sleep 8") for number in range(4)]
    told = [{"id": spec.id, "name": spec.name, "command": spec.command, "grace": spec.grace} for spec in specs]
    # sbatch that kills who has called it as soon as the job is accepted.
    _program(tmp_path / "bin" / "sbatch", f'{shutil.which("sbatch")} "$@" && kill -9 $PPID')
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        command = [sys.executable, "-c", SUBMITTER, executor.folder, json.dumps(told), "2"]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert not list(Path(executor.folder).glob("*/job.json"))
    handles = [executor.find(spec.id) for spec in specs]
    for index, handle in enumerate(handles):
        assert handle is not None
        bench.handles.append(handle)
        assert not executor.status(handle).state.is_ended
        assert slurm_number(handle).endswith(f"_{index}")
    assert len({slurm_number(handle).partition("_")[0] for handle in bench.handles}) == 1
    assert executor.submit_array(specs, at_once=2) == handles
    assert executor.submit(specs[2]) == handles[2]
    for index, handle in enumerate(bench.handles):
        assert bench.ended(handle).has_succeeded
        assert bench.output(handle) == f"unit {index}\n"  # once


@pytest.mark.parametrize("said", ["Requested operation is presently disabled", "Unable to contact slurm controller"])
def test_a_requeue_that_was_not_done_uses_up_no_start(
    bench: Bench, cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    handle = bench.submit("echo began ${ABOARD_UNIT_REQUEUED:-0}; sleep 60", restarts=1)
    bench.until_printed(handle, "began")
    cluster.kill_job(handle)
    until(lambda: bench.executor.status(handle).can_go_on, PATIENCE)
    refusing = f'[ "$1" = requeue ] && {{ echo "{said}" >&2; exit 1; }}; exec {shutil.which("scontrol")} "$@"'
    _program(tmp_path / "bin" / "scontrol", refusing)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        with contextlib.suppress(ExecutorUnavailable):
            assert not bench.executor.revive(handle)
    assert bench.executor.status(handle).can_go_on
    assert bench.executor.revive(handle)
    bench.until_printed(handle, "began 0\nbegan 0\n")
    assert bench.executor.status(handle).attempt == 2


def test_starts_of_the_job_that_submits_are_not_those_of_the_unit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_RESTART_COUNT", "4")  # as within a job that was queued again
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1700000000")
    handle = bench.submit("echo requeued ${ABOARD_UNIT_REQUEUED:-never}, ends $ABOARD_UNIT_LIMIT")
    assert bench.ended(handle).attempt == 1
    assert bench.output(handle).startswith("requeued never, ")
    assert "1700000000" not in bench.output(handle)


def test_a_unit_knows_when_slurms_own_limit_is_reached(bench: Bench) -> None:
    # Newer versions say it by themselves; 22.05 does not.
    handle = _with(bench, setup=("export SLURM_JOB_END_TIME=1800000000",)).submit("echo $ABOARD_UNIT_LIMIT")
    assert bench.ended(handle).has_succeeded
    assert bench.output(handle) == "1800000000\n"


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def _has_succeeded(bench: Bench, handle: UnitHandle) -> bool:
    """Of what stands in its folder: until then Slurm is asked."""
    with contextlib.suppress(ExecutorUnavailable):
        return bench.executor.status(handle).has_succeeded
    return False


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
        until(lambda: _has_succeeded(bench, handle), PATIENCE)
    finally:
        cluster.start_controller()
