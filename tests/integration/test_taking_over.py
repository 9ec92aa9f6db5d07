# SPDX-License-Identifier: Apache-2.0
"""`aboard sync FOLDER STORE`: log folders of earlier trainings become runs, with their dates and hyperparameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aboard import SummaryWriter
from support.runs import Kept, Machine, well

LONG_AGO = 1_600_000_000.0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "one", str(tmp_path / "store"))


def _log(folder: Path, *, begun: float = LONG_AGO, steps: int = 3) -> None:
    with SummaryWriter(folder) as writer:
        for step in range(steps):
            writer.add_scalar("loss", step, step, walltime=begun + step)


def _runs(kept: Kept) -> dict[str, str]:
    return {kept.run(uid).name: uid for uid in kept.uids()}


def test_folders_become_runs_with_their_dates_and_hyperparameters(machine: Machine) -> None:
    logs = machine.folder / "logs"
    _log(logs / "fit/first/train")
    _log(logs / "fit/first/validation")
    _log(logs / "second", begun=LONG_AGO + 1000)
    with SummaryWriter(logs / "second") as writer:
        writer.add_hparams({"lr": 0.1, "name": "adam"}, {"acc": 0.5}, run_name="trial")
        writer.add_scalars("parts", {"a": 1.0}, 1)
    well(machine.ask("sync", logs, machine.store, "--workspace", "lab", "--experiment", "old"))
    kept = Kept.at(machine.store)
    runs = _runs(kept)
    assert set(runs) == {"fit-first", "second"}
    first, second = kept.run(runs["fit-first"]), kept.run(runs["second"])
    assert first.created.timestamp() == pytest.approx(LONG_AGO)
    assert (first.workspace, first.experiment, str(first.status)) == ("lab", "old", "completed")
    assert first.metrics["validation/loss"].last.value == 2.0
    assert kept.points("train", "loss", runs["fit-first"]) == [(0, 0.0), (1, 1.0), (2, 2.0)]
    assert second.hparams == {"lr": 0.1, "name": "adam"}
    assert kept.points("parts/a", "parts", runs["second"]) == [(1, 1.0)]
    assert not (machine.home / "spool").exists() or not machine.spools()  # nothing stays on this machine


def test_again_takes_only_what_is_new(machine: Machine) -> None:
    logs = machine.folder / "logs"
    _log(logs / "a")
    well(machine.ask("sync", logs, machine.store))
    again = json.loads(well(machine.ask("sync", logs, machine.store, "--json")).out)
    assert [item["state"] for item in again["items"]] == ["complete"]
    _log(logs / "a", begun=LONG_AGO + 100, steps=5)
    _log(logs / "b")
    more = json.loads(well(machine.ask("sync", logs, machine.store, "--json")).out)
    assert {item["name"]: item["state"] for item in more["items"]} == {"a": "shipped", "b": "shipped"}
    kept = Kept.at(machine.store)
    runs = _runs(kept)
    assert set(runs) == {"a", "b"}
    assert [step for step, _ in kept.points("", "loss", runs["a"])] == [0, 1, 2, 0, 1, 2, 3, 4]
    assert str(kept.run(runs["a"]).status) == "completed"


def test_runs_at_a_depth(machine: Machine) -> None:
    logs = machine.folder / "logs"
    _log(logs)  # a stray file, by which all would be one run
    _log(logs / "x/one")
    one = json.loads(well(machine.ask("sync", logs, machine.store, "--json")).out)
    assert [item["name"] for item in one["items"]] == ["logs"]
    refused = machine.ask("sync", logs, machine.store, "--depth", "1")
    assert refused.code == 1
    assert "only 0 levels below" in refused.err
    assert "Traceback" not in refused.err
    deep = json.loads(well(machine.ask("sync", logs / "x", machine.store, "--depth", "1", "--json")).out)
    assert [item["name"] for item in deep["items"]] == ["one"]


def test_mistakes_are_told(machine: Machine) -> None:
    empty = machine.folder / "empty"
    empty.mkdir()
    for arguments, said in [
        ((empty, machine.store), "no event files below"),
        ((empty,), "aboard sync FOLDER STORE"),
        (("--depth", "1"), "aboard sync FOLDER STORE"),
        ((machine.folder, machine.folder / "store-inside"), "shipped into itself"),
    ]:
        ended = machine.ask("sync", *arguments)
        told = ended.err + ended.out
        assert (ended.code, said in told, "Traceback" in told) == (1, True, False), told
    assert list(empty.iterdir()) == []
