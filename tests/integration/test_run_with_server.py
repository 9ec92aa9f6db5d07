# SPDX-License-Identifier: Apache-2.0
"""Runs with a server configured: it numbers and names them, and is not needed for anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard.client.client import Client
from support.processes import until
from support.runs import Kept, Machine, finish, well


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a person exports to use a running server."""
    machine = Machine(tmp_path / "server", str(tmp_path / "store"))
    process = machine.start("server", "--port", 0, "--json")
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    yield {"ABOARD_SERVER": said["url"], "ABOARD_TOKEN": said["token"]}
    process.terminate()
    finish(process)


def test_the_server_gives_numbers_and_names(tmp_path: Path, server: dict[str, str]) -> None:
    machine = Machine(tmp_path / "one", str(tmp_path / "store"), server)
    script = """
        import os
        from aboard import Run
        run = Run()
        run.log_metrics({"loss": 1.0})
        print(run.name, os.environ["XT_RUN_NAME"])
    """
    assert well(machine.run(script, "--experiment", "digits")).out == "run1 run1\n"
    assert well(machine.run("print('x')", "--name", "mine", "--resources-every", "0")).out == "x\n"
    well(machine.python("from aboard import Run\nwith Run(name='alone') as run: run.log_metrics({'loss': 2.0})"))
    client = Client(server["ABOARD_SERVER"], server["ABOARD_TOKEN"])
    expected = {1: ("run1", "completed"), 2: ("mine", "completed"), 3: ("alone", "completed")}
    until(lambda: {run.number: (run.name, str(run.status)) for run in client.runs.list().items} == expected)
    assert client.runs.get("run1").experiment == "digits"
    assert client.runs.get("run1").metrics["loss"].last.value == 1.0
    kept = Kept.at(machine.store)
    assert {kept.run(uid).name for uid in kept.uids()} == {"run1", "mine", "alone"}


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "ftp://nowhere"])
def test_without_its_server_a_run_goes_on(tmp_path: Path, address: str) -> None:
    machine = Machine(tmp_path / "one", str(tmp_path / "store"), {"ABOARD_SERVER": address})
    ended = well(machine.run("print('done')", "--resources-every", "0"))
    assert ended.out == "done\n"
    assert address.rpartition("/")[2] in ended.err
    run = Kept.at(machine.store).run()
    assert (run.name, str(run.status)) == (f"run-{run.uid[-8:].lower()}", "completed")
