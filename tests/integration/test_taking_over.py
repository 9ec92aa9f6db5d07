# SPDX-License-Identifier: Apache-2.0
"""`aboard sync FOLDER STORE`: log folders of earlier trainings become runs, with their dates and hyperparameters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.model.run_edits import RunEdit
from aboard.model.runs import Note
from aboard.model.times import now
from aboard.services.folders.edits import FolderEdits
from aboard.store import open_store
from aboard.store.run.documents import with_tags
from aboard.store.run.run_folder import RunFolder
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


def test_what_was_added_in_a_view_comes_along_once(machine: Machine) -> None:
    logs = machine.folder / "logs"
    _log(logs / "a")
    _log(logs / "b")
    edits = FolderEdits(machine.home, str(logs))
    note = Note(text="diverged at first", author="ann", written=now())
    edits.change(["a"], lambda _: RunEdit(name="best", tags={"good": "", "lr": "high"}, notes=(note,)))
    edits.change(["b"], lambda _: RunEdit(deleted=now()))
    said = well(machine.ask("sync", logs, machine.store)).out
    assert "took along: name, tags, notes" in said
    kept = Kept.at(machine.store)
    uids = _runs(kept)
    best = kept.run(uids["best"])
    assert (best.tags, best.notes) == ({"good": "", "lr": "high"}, (note,))
    assert kept.run(uids["b"]).deleted is not None

    folder = RunFolder(open_store(machine.store), best.uid)  # somebody works on in the store
    document = folder.read_run()
    assert document is not None
    folder.write_run(replace(with_tags(document, {"lr": "low"}, ["good"]), name="champion"))
    assert "took along" not in well(machine.ask("sync", logs, machine.store)).out
    later = Note(text="seed 3 too", author="ann", written=now())
    edits.change(["a"], lambda edit: replace(edit, tags={**edit.tags, "paper": "fig2"}, notes=(*edit.notes, later)))
    edits.change(["b"], lambda edit: replace(edit, deleted=None))
    assert "took along: tags, notes" in well(machine.ask("sync", logs, machine.store)).out
    run = kept.run(best.uid)
    assert (run.name, run.tags, run.notes) == ("champion", {"lr": "low", "paper": "fig2"}, (note, later))
    assert kept.run(uids["b"]).deleted is None


def test_edits_made_over_another_folder_come_along_or_are_named(machine: Machine) -> None:
    logs = machine.folder / "logs"
    _log(logs / "x/one")
    FolderEdits(machine.home, str(machine.folder)).change(["logs/x/one"], lambda _: RunEdit(tags={"above": ""}))
    FolderEdits(machine.home, str(logs / "x/one")).change(["."], lambda _: RunEdit(tags={"run": ""}))
    FolderEdits(machine.home, str(logs)).change(["x/two"], lambda _: RunEdit(tags={"elsewhere": ""}))
    ended = well(machine.ask("sync", logs, machine.store))
    kept = Kept.at(machine.store)
    (uid,) = kept.uids()
    assert kept.run(uid).tags == {"above": "", "run": ""}
    assert "of 1 run of `aboard view` are not taken along, such as those of x/two" in ended.err
