# SPDX-License-Identifier: Apache-2.0
"""Executors for the contract suite: each bench says how a shell script becomes a unit there.

All are real but the API server of Kubernetes, which `kubernetes_api` and `kubernetes_node` stand in for unless
KUBERNETES_UNDER_TEST names a cluster, and Vertex AI, for which `vertex_api` and `vertex_machines` do.

EXECUTORS_UNDER_TEST names those to be tested: `make test` takes local processes, `make test-vertex` Vertex and
`make test-cluster` all others; the end of each report says what was real.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aboard.executors import Executor, Local, Ssh
from aboard.executors.keeper.process_tree import marked
from aboard.model.states import UnitState
from aboard.model.units import Mount, UnitHandle, UnitSpec, UnitStatus
from support.ssh_server import ssh_server
from support.what_was_real import local_stood_on_this_machine

UNDER_TEST = os.environ.get("EXECUTORS_UNDER_TEST", "local").split()
PATIENCE = 60.0


@dataclass
class Bench:
    """An executor, and what its units need to run a shell script."""

    executor: Executor
    common: dict[str, Any] = field(default_factory=dict)
    handles: list[UnitHandle] = field(default_factory=list)
    keeps_output: bool = True
    """Whether what a unit printed is still there when it was stopped."""
    keeps_files: bool = True
    """Whether a unit that is started again finds what it has written."""
    is_elsewhere: bool = False
    """Whether units may run on other machines than this one."""
    lacks: dict[str, str] = field(default_factory=dict)
    """What units cannot have there, and why."""

    def needs(self, part: str) -> None:
        """Pass over a test of what units cannot have there."""
        if part in self.lacks:
            pytest.skip(f"{self.executor.name}: {self.lacks[part]}")

    def spec(self, script: str = "", **parts: Any) -> UnitSpec:
        command = parts.pop("command", ("sh", "-c", script))
        return UnitSpec(**{"name": "contract", "command": command, "grace": 1.0, **self.common, **parts})

    def submit(self, script: str = "", **parts: Any) -> UnitHandle:
        return self.submit_spec(self.spec(script, **parts))

    def submit_spec(self, spec: UnitSpec) -> UnitHandle:
        handle = self.executor.submit(spec)
        self.handles.append(handle)
        return handle

    def ended(self, handle: UnitHandle) -> UnitStatus:
        status = self.executor.wait(handle, PATIENCE)
        assert status.state.is_ended, f"{status} after {PATIENCE} s"
        return status

    def running(self, handle: UnitHandle) -> None:
        from support.processes import until

        until(lambda: self.executor.status(handle).state is UnitState.RUNNING, PATIENCE)

    def output(self, handle: UnitHandle) -> str:
        return b"".join(self.executor.logs(handle)).decode()

    def until_printed(self, handle: UnitHandle, text: str) -> None:
        from support.processes import until

        until(lambda: text in self.output(handle), PATIENCE)

    def until_gone(self, handle: UnitHandle) -> None:
        """Wait until none of the unit's processes lives. Those of other machines show it by what they print."""
        from support.processes import until

        if self.is_elsewhere:
            size = len(self.output(handle))
            time.sleep(1)
            assert len(self.output(handle)) <= size, "a child still prints"  # what a pod printed goes with it
        else:
            until(lambda: not marked(handle.unit), PATIENCE)

    def clear(self) -> None:
        for handle in self.handles:
            with contextlib.suppress(KeyError):  # forgotten by the test
                self.executor.stop(handle, grace=0)
                self.executor.wait(handle, PATIENCE)
                self.executor.forget(handle)


@contextlib.contextmanager
def local_bench(folder: Path) -> Generator[Bench]:
    local_stood_on_this_machine()
    yield Bench(Local(folder=str(folder / "units")))


@contextlib.contextmanager
def ssh_bench(folder: Path) -> Generator[Bench]:
    with ssh_server(folder) as config:
        yield Bench(Ssh(host="elsewhere", config=str(config), folder=str(folder / "units with space")))


@contextlib.contextmanager
def docker_bench(folder: Path) -> Generator[Bench]:
    from aboard.executors import Docker
    from support.docker_daemon import IMAGE, docker_daemon

    with docker_daemon() as address:
        programs = (Mount(source="/usr", target="/usr", read_only=True),)
        yield Bench(Docker(address=address, pull="never"), {"image": IMAGE, "mounts": programs})


@contextlib.contextmanager
def slurm_bench(folder: Path) -> Generator[Bench]:
    from aboard.executors import Slurm
    from support.slurm_cluster import slurm_cluster

    with slurm_cluster():
        yield Bench(Slurm(folder=str(folder / "units")))


@contextlib.contextmanager
def kubernetes_bench(folder: Path) -> Generator[Bench]:
    from aboard.executors import Kubernetes
    from support.kubernetes_under_test import OwnCluster, kubernetes_under_test

    with kubernetes_under_test(folder) as cluster:
        executor = Kubernetes(kubeconfig=str(cluster.config))
        is_elsewhere = not isinstance(cluster, OwnCluster)  # whose pods are processes of this machine
        common = {"image": cluster.image}
        yield Bench(executor, common, keeps_output=False, keeps_files=not is_elsewhere, is_elsewhere=is_elsewhere)


@contextlib.contextmanager
def vertex_bench(folder: Path) -> Generator[Bench]:
    from aboard.executors import Vertex
    from support.vertex_machines import vertex_machines

    lacks = {
        "ports": "jobs of Vertex cannot be connected to, and units with ports are refused",
        "restarts": "Vertex starts a job again after failures of its own alone",
        "start errors": "what Vertex says of a container that cannot be started is not known",
    }
    with vertex_machines(folder) as api:
        executor = Vertex(project="lab", endpoint_address=api.address, poll_seconds=0.1)
        yield Bench(executor, {"image": "image:1"}, lacks=lacks)


BENCHES: dict[str, Callable[[Path], contextlib.AbstractContextManager[Bench]]] = {
    "local": local_bench,
    "ssh": ssh_bench,
    "docker": docker_bench,
    "slurm": slurm_bench,
    "kubernetes": kubernetes_bench,
    "vertex": vertex_bench,
}
