# SPDX-License-Identifier: Apache-2.0
"""A controller that forgets: what became of a job is then told by the accounts."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from aboard.executors import Slurm
from aboard.model.unit_parts import Resources
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason
from support.executor_benches import Bench
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster


@pytest.fixture(scope="module")
def cluster() -> Generator[SlurmCluster]:
    with slurm_cluster(keeps_accounts=True) as running:
        yield running


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
    for spec in (waiting, failing):
        until(lambda spec=spec: _is_forgotten(cluster, f"contract-{spec.id.lower()}"), 110)
    status = bench.executor.status(cancelled)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    # Without the keeper's record the accounts still have the exit code, and the job by its name.
    folder = Path(failed.place["folder"])
    (folder / "job.json").unlink()
    assert bench.executor.find(failing.id) == failed
    (folder / "state.json").rename(folder / "kept.json")
    assert bench.executor.status(failed).state is UnitState.FAILED
