# SPDX-License-Identifier: Apache-2.0
"""Slurm with accounts: who may use what, arrays of a few, and a controller that forgets.

What became of a job that it has forgotten is told by the accounts.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import UnitRefused
from aboard.executors import Slurm
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Resources
from support.executor_benches import PATIENCE, Bench
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster, slurm_number

LARGEST_ARRAY = 4
pytestmark = pytest.mark.timeout(300)  # a controller takes a minute to forget


@pytest.fixture(scope="module")
def cluster() -> Generator[SlurmCluster]:
    with slurm_cluster(keeps_accounts=True, more=f"MaxArraySize={LARGEST_ARRAY}\n") as running:
        for words in (
            "qos gentle",
            "qos tight MaxSubmitJobsPerUser=4",
            "account vision",
            "user root account=vision qos=normal,gentle,tight",
        ):
            running.tell("sacctmgr", "--immediate", "add", *words.split())
        until(lambda: "tight" in running.tell("sacctmgr", "-nP", "show", "associations", "format=user,account,qos"), 60)
        yield running


def _on(bench: Bench, **options: Any) -> Slurm:
    made = dataclasses.replace(bench.executor, **options)
    assert isinstance(made, Slurm)
    return made


@pytest.fixture
def bench(cluster: SlurmCluster, tmp_path: Path) -> Generator[Bench]:
    made = Bench(Slurm(folder=str(tmp_path / "units")))
    yield made
    made.clear()


def _is_forgotten(cluster: SlurmCluster, name: str) -> bool:
    return cluster.tell("squeue", "--noheader", "--states=all", f"--name={name}") == ""


def test_jobs_that_the_controller_has_forgotten_are_found_in_the_accounts(bench: Bench, cluster: SlurmCluster) -> None:
    whole = Resources(cpus=8)
    first = bench.spec("echo ready; sleep 60", resources=whole)
    running = bench.submit_spec(first)
    bench.until_printed(running, "ready")
    waiting = bench.spec("true", resources=whole)
    cancelled = bench.submit_spec(waiting)
    name = f"contract-{waiting.id.lower()}"
    cluster.tell("scancel", f"--name={name}")  # by somebody else, before it began
    bench.executor.stop(running, grace=0)
    bench.ended(running)
    failing = bench.spec("exit 3")
    failed = bench.submit_spec(failing)
    bench.ended(failed)
    specs = [bench.spec("true"), bench.spec("true")]
    members = _on(bench).submit_array(specs)
    for member in members:
        bench.ended(member)
        (Path(member.place["folder"]) / "job.json").unlink()
        (Path(member.place["folder"]) / "state.json").unlink()
    for spec in (waiting, failing, specs[0]):
        until(lambda spec=spec: _is_forgotten(cluster, f"contract-{spec.id.lower()}"), 110)
    status = bench.executor.status(cancelled)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    # Without the keeper's record the accounts still have the exit code, and the job by its name.
    folder = Path(failed.place["folder"])
    (folder / "job.json").unlink()
    assert bench.executor.find(failing.id) == failed
    (folder / "state.json").rename(folder / "kept.json")
    assert bench.executor.status(failed).state is UnitState.FAILED
    # Members of an array have the name of its first unit.
    member = bench.executor.find(specs[1].id)
    assert member is not None
    assert slurm_number(member).endswith("_1")
    assert bench.executor.status(member).has_succeeded


def test_a_unit_that_has_begun_is_known_though_nobody_has_its_number(
    bench: Bench, cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = bench.spec("echo once")
    handle = bench.submit_spec(spec)
    assert bench.ended(handle).has_succeeded
    until(lambda: _is_forgotten(cluster, f"contract-{spec.id.lower()}"), 110)
    (Path(handle.place["folder"]) / "job.json").unlink()
    sacct = tmp_path / "bin" / "sacct"
    sacct.parent.mkdir()
    sacct.write_text("#!/bin/sh\necho Slurm accounting storage is disabled >&2\nexit 1\n")
    sacct.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sacct.parent}:{os.environ['PATH']}")
    assert bench.executor.find(spec.id) == handle
    assert bench.submit_spec(spec) == handle
    assert bench.executor.status(handle).has_succeeded
    assert bench.output(handle) == "once\n"


def test_account_and_qos_are_those_of_the_job(bench: Bench, cluster: SlurmCluster) -> None:
    handle = _on(bench, account="vision", qos="gentle").submit(bench.spec("sleep 60"))
    bench.handles.append(handle)
    shown = cluster.tell("scontrol", "--oneliner", "show", "job", slurm_number(handle))
    assert "Account=vision" in shown
    assert "QOS=gentle" in shown


@pytest.mark.parametrize(
    ("options", "told", "hint"),
    [
        ({"account": "absent"}, "invalid account", "lists your accounts"),
        ({"account": "vision", "qos": "absent"}, "invalid qos", "sacctmgr show qos"),
    ],
)
def test_accounts_that_one_has_not_are_refused(bench: Bench, options: dict[str, Any], told: str, hint: str) -> None:
    spec = bench.spec("true")
    with pytest.raises(UnitRefused, match=rf"(?i){told}") as refused:
        _on(bench, **options).submit(spec)
    assert hint in refused.value.hint
    assert bench.executor.find(spec.id) is None


def test_more_units_than_one_array_can_have_are_several(bench: Bench) -> None:
    specs = [bench.spec(f"echo unit {number}; sleep 1") for number in range(LARGEST_ARRAY + 2)]
    handles = _on(bench).submit_array(specs, at_once=3)
    bench.handles += handles
    numbers = [slurm_number(handle).split("_") for handle in handles]
    assert [int(index) for _, index in numbers] == [0, 1, 2, 3, 0, 1]
    assert len({job for job, _ in numbers}) == 2
    assert _on(bench).submit_array(specs, at_once=3) == handles
    ends = [bench.ended(handle) for handle in handles]
    for number, (handle, status) in enumerate(zip(handles, ends, strict=True)):
        assert status.has_succeeded, status
        assert bench.output(handle) == f"unit {number}\n"
    # Never more than three at a time: the second array has waited for the first.
    begun = [status.started for status in ends[LARGEST_ARRAY:] if status.started is not None]
    assert min(begun) >= max(status.ended for status in ends[:LARGEST_ARRAY] if status.ended is not None)


def test_a_sweep_that_is_refused_in_part_leaves_nothing(bench: Bench, cluster: SlurmCluster) -> None:
    specs = [bench.spec("echo ready; sleep 60") for _ in range(LARGEST_ARRAY + 1)]
    with pytest.raises(UnitRefused) as refused:
        _on(bench, account="vision", qos="tight").submit_array(specs)
    assert "limit" in refused.value.hint
    until(lambda: cluster.tell("squeue", "--noheader", "--qos=tight") == "", PATIENCE)
    assert [bench.executor.find(spec.id) for spec in specs] == [None] * len(specs)
