# SPDX-License-Identifier: Apache-2.0
"""`aboard runs`, `experiments` and `workspaces` as a person types them, with the private server they start."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import aboard
from support.forked_commands import forked_local_servers
from support.processes import Ended
from support.runs import Machine, well

# Three runs as trainings leave them: what differs is what tests ask for.
TRAINING = """
    from aboard import Run

    for number in (1, 2, 3):
        hparams = {"lr": 0.01 * number, "net": {"depth": 5}}
        named = {"workspace": "lab", "experiment": "digits", "name": f"try {number}", "tags": {"data": f"v{number}"}}
        with Run(hparams=hparams, **named) as run:
            for epoch in range(4):
                run.log_metrics({"epoch": epoch, "loss": 1 / (epoch + number)}, step_name="epoch", stage="train")
            run.note(f"note {number}")
            if number == 3:
                run.finish("failed", "too large")
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("cli")
    machine = Machine(folder / "one", str(folder / "store"), {"TZ": "Asia/Tokyo", "COLUMNS": "200"})
    well(machine.python(TRAINING))
    with forked_local_servers():
        well(machine.ask("runs"))
        yield machine


@pytest.fixture
def here(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The same machine for commands within this process, which saves the start of one for each."""
    monkeypatch.setenv("ABOARD_HOME", str(machine.home))
    monkeypatch.setenv("ABOARD_STORE", machine.store)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return machine


def lines(ended: Ended) -> list[str]:
    return well(ended).out.splitlines()


def items(ended: Ended) -> list[dict[str, object]]:
    document = json.loads(well(ended).out)
    assert set(document) == {"items", "next"}
    return document["items"]


def rows(ended: Ended) -> list[list[str]]:
    """The cells of a table, without its titles."""
    return [[cell.strip() for cell in line.split("|")] for line in lines(ended)[2:]]


def test_runs_are_listed_with_states_in_capitals_and_local_times(machine: Machine) -> None:
    ended = machine.aboard("runs")
    assert [cell.strip() for cell in lines(ended)[0].split("|")][:5] == [
        "run",
        "name",
        "workspace",
        "experiment",
        "status",
    ]
    found = rows(ended)
    assert [row[:5] for row in found] == [
        ["run3", "try 3", "lab", "digits", "FAILED"],
        ["run2", "try 2", "lab", "digits", "COMPLETED"],
        ["run1", "try 1", "lab", "digits", "COMPLETED"],
    ]
    assert found[0][7] == "data=v3"
    assert "3 runs" in ended.err
    # Nine hours are between Tokyo's clock and UTC.
    (document,) = items(machine.aboard("runs", "list", "--where", "run == 1", "--json"))
    assert items(machine.aboard("runs", "list", "--where", str(document["name"]).upper(), "--json")) == [document]
    utc, local = str(document["created"]), found[2][5]
    assert (int(local[11:13]) - int(utc[11:13])) % 24 == 9


def test_columns_filters_order_and_groups(here: Machine) -> None:
    columns = "run=Id,hparams.lr,metrics.train/loss.min:.3f,metrics.none,reason"
    ended = aboard("runs", "list", "--columns", columns, "--sort", "-hparams.lr", "--where", "hparams.lr > 0.015")
    assert lines(ended)[0].split(" | ")[0] == "Id  "
    assert rows(ended) == [["run3", "0.03", "0.167", "N/A", "too large"], ["run2", "0.02", "0.200", "N/A", "N/A"]]
    grouped = well(aboard("runs", "list", "--group", "status", "--columns", "run", "--last", "2"))
    assert " ".join(grouped.out.split()) == "status: COMPLETED (1) run ---- run2 status: FAILED (1) run ---- run3"
    assert "2 of 3 runs" in grouped.err
    tagged = aboard("runs", "list", "--tag", "data=v2", "--status", "COMPLETED", "-w", "lab", "-e", "exp1", "--csv")
    (row,) = csv.DictReader(io.StringIO(well(tagged).out))
    assert (row["run"], row["status"], json.loads(row["tags"])) == ("run2", "completed", {"data": "v2"})
    chosen = items(aboard("runs", "list", "--all", "--columns", "run,metrics.train/loss.min", "--json"))
    assert chosen[0] == {"run": "run3", "metrics.train/loss.min": pytest.approx(1 / 6)}
    assert "metrics.train/loss.(last, min" in well(aboard("runs", "list", "--available")).out


def test_a_group_without_a_command_lists(here: Machine) -> None:
    for group in ("runs", "experiments", "workspaces", "jobs", "board", "tensorboard"):
        assert well(aboard(group)).out == well(aboard(group, "list")).out
        assert json.loads(well(aboard(group, "--json")).out) == json.loads(well(aboard(group, "list", "--json")).out)
    assert well(aboard("board", "-q")).out == ""
    assert "aboard jobs [OPTIONS] COMMAND" in well(aboard("jobs", "--help")).out


MISTAKES = {
    ("runs", "show", "try4"): ["there is no run 'try4'", "nearest: try"],
    ("runs", "list", "--where", "hparam.lr <"): ["(column", "hparam.lr <"],
    ("runs", "list", "--sort", "metrics.lss"): ["no run has metrics.lss", "nearest: metrics."],
    ("runs", "list", "--sort", "-hparams.lrr"): ["no run has hparams.lrr", "nearest: hparams.lr"],
    ("runs", "list", "--where", "metrics.loss.min < 1"): ["no run has metrics.loss", "metrics.train/loss.min"],
    ("runs", "list", "--columns", "nonsense"): ["there is no field 'nonsense'"],
    ("runs", "list", "--columns", "hparams.lr:Z"): ["'Z' is not a format for numbers"],
    ("runs", "list", "--json", "--csv"): ["two forms of one list"],
    ("runs", "tag", "run1"): ["no tag is named", "--tag good"],
    ("runs", "move", "run1"): ["--workspace, --experiment or both"],
    ("runs", "delete", "run1-run3"): ["Move 3 runs to trash? Nobody can be asked here", "--yes"],
    ("runs", "delete", "run1", "--files"): ["for good? Nobody can be asked here"],
    ("runs", "delete", "run1", "--where", "run == 2"): ["there is no run for which run == 2 holds"],
    ("runs", "delete", "run1", "run7"): ["there is no run 'run7'", "nearest: run"],
    ("runs", "delete", "run3-run1"): ["ends before it begins", "run1-run3"],
    ("runs", "delete", "./somewhere"): ["holds no run that the server knows"],
    ("runs", "tag", "--tag", "x"): ["no run is named", "run10-run20"],
    ("runs", "delete", "lab/nothing*"): ["there is no run like 'lab/nothing*'"],
    ("runs", "show", "run8-run9"): ["there is no run"],
    ("runs", "tag", "run8-run9", "--tag", "x"): ["there is no run like 'run8-run9'", "A range counts numbers"],
    ("runs", "move", "run1", "-e", "exp77"): ["there is no experiment exp77", "name:exp77 for a new experiment"],
    ("runs", "retain"): ["nothing says which runs may go"],
    ("runs", "retain", "--older-than", "soon"): ["is not a length of time", "30d"],
    ("runs", "usage", "--by", "moon"): ["not a way to group runs", "workspace, experiment"],
    ("experiments", "show", "digit"): ["digit", "digits"],
    ("workspaces", "show", "lap"): ["there is no workspace 'lap'", "nearest: lab"],
}


def test_mistakes_are_told_and_change_nothing(here: Machine) -> None:
    for arguments, texts in MISTAKES.items():
        ended = aboard(*arguments)
        assert (ended.code, ended.out) == (1, ""), arguments
        assert "Traceback" not in ended.err
        for text in texts:
            assert text in ended.err, (arguments, ended.err)
    assert len(rows(aboard("runs"))) == 3


def test_one_run_with_everything_and_two_with_what_differs(here: Machine) -> None:
    shown = well(aboard("runs", "show", "lab/try 3")).out
    for text in ("status      FAILED", "reason      too large", "net.depth", "note 3", "attempt 1", "exit code   N/A"):
        assert text in shown, text
    (metric,) = [line for line in shown.splitlines() if line.startswith("train/loss")]
    assert [cell.strip() for cell in metric.split("|")] == [
        "train/loss",
        "4",
        "0.166667",
        "3",
        "0.166667",
        "3",
        "0.333333",
        "0",
    ]
    document = json.loads(well(aboard("runs", "show", "3", "--json")).out)
    assert document["hparams"] == {"lr": 0.03, "net.depth": 5}
    differences = {row[0]: row[1:] for row in rows(aboard("runs", "compare", "run1", "run3"))}
    assert differences["hparams.lr"] == ["0.01", "0.03"]
    assert differences["status"] == ["COMPLETED", "FAILED"]
    assert "hparams.net.depth" not in differences
    compared = json.loads(well(aboard("runs", "compare", "run1", "run3", "--json")).out)
    assert compared["same"] == {"net.depth": 5}


def test_changes_reach_the_store_and_what_is_deleted_goes_first_into_the_bin(here: Machine) -> None:
    _change(here)
    _delete(here)


def _change(here: Machine) -> None:
    well(aboard("runs", "tag", "run1-run2", "--tag", "good", "--remove", "data"))
    tagged = aboard("runs", "tag", "run3,", "digits", "lab/try*", "--where", "hparams.lr < 0.025", "--tag", "low")
    assert lines(tagged) == ["run1 (try 1): tagged", "run2 (try 2): tagged"]
    well(aboard("runs", "tag", "run1-run2", "--remove", "low"))
    well(aboard("runs", "note", "run1", "looks fine"))
    well(aboard("runs", "rename", "try 1", "baseline"))
    well(aboard("workspaces", "add", "other"))
    moved = aboard("runs", "move", "--where", '"good" in tags', "-w", "other", "-e", "new")
    assert lines(moved) == ["run1 (baseline): moved", "run2 (try 2): moved"]
    (run,) = items(aboard("runs", "list", "--where", "run == 1", "--json"))
    assert (run["name"], run["workspace"], run["experiment"], run["tags"]) == ("baseline", "other", "new", {"good": ""})
    assert "looks fine" in json.dumps(run["notes"])
    stored = json.loads((Path(here.store) / str(run["uid"]) / "run.json").read_text())
    assert (stored["name"], stored["workspace"]) == ("baseline", "other")

    groups = rows(aboard("experiments"))
    assert {row[1]: row[4:6] for row in groups} == {"digits": ["1", "1 FAILED"], "new": ["2", "2 COMPLETED"]}
    well(aboard("experiments", "change", "other/new", "--name", "newer", "--tag", "x=y", "--description", "more"))
    assert "newer" in well(aboard("experiments", "show", "newer")).out
    well(aboard("workspaces", "rename", "other", "second"))
    found = {row[0]: row[2:4] for row in rows(aboard("workspaces"))}
    assert found == {"lab": ["1", "1"], "second": ["1", "2"]}
    usage = json.loads(well(aboard("runs", "usage", "--by", "status", "--json")).out)
    assert {row["group"]: row["runs"] for row in usage["items"]} == {"completed": 2, "failed": 1}


def _delete(here: Machine) -> None:
    deleted = aboard("runs", "delete", "run3")
    assert lines(deleted) == ["run3 (try 3): moved to trash; `aboard runs restore run3` restores it"]
    assert len(rows(aboard("runs"))) == 2
    assert [row[0] for row in rows(aboard("runs", "list", "--bin"))] == ["run3"]
    well(aboard("runs", "restore", "lab/try 3"))
    assert len(rows(aboard("runs"))) == 3
    exported = well(aboard("runs", "export", "run1,run3", "--tag", "loss")).out
    points = list(csv.DictReader(io.StringIO(exported)))
    assert {point["run"] for point in points} == {"baseline/train", "try 3/train"}
    assert len(points) == 8
    assert well(aboard("runs", "export", "run1,run3", "--tag", "loss", "--through-server")).out == exported
    refused = aboard("runs", "export", "run1", "--superseded", "--through-server")
    assert refused.code == 1
    assert "leave away --superseded" in refused.err
    plan = aboard("runs", "retain", "--keep", "1", "--dry-run")
    assert lines(plan)[0].startswith("run1 (baseline)  COMPLETED")
    uid = json.loads(well(aboard("runs", "show", "run1", "--json")).out)["uid"]
    assert (Path(here.store) / uid).exists()
    well(aboard("runs", "retain", "--keep", "1", "--files", "--yes"))
    assert not (Path(here.store) / uid / "manifest.json").exists()
    assert [row[0] for row in rows(aboard("runs"))] == ["run3", "run2"]
    gone = lines(aboard("experiments", "delete", "digits", "--yes"))
    assert gone == ["exp1 (lab/digits): moved to trash; `aboard experiments restore exp1` restores it"]
    assert [row[0] for row in rows(aboard("runs"))] == ["run2"]
    well(aboard("experiments", "restore", "exp1"))
    assert [row[0] for row in rows(aboard("runs"))] == ["run3", "run2"]
    _names_like_numbers()


def _names_like_numbers() -> None:
    well(aboard("runs", "rename", "run2", "run9"))
    well(aboard("experiments", "rename", "exp2", "job2300"))
    assert [row[0] for row in rows(aboard("runs", "list", "-e", "job2300"))] == ["run2"]
    for words in (("runs", "delete", "run9"), ("runs", "delete", "job2300", "--yes")):
        refused = aboard(*words)
        assert (refused.code, refused.out) == (1, "")
        assert f"write name:{words[2]} for the " in refused.err
    assert aboard("experiments", "delete", "job2300", "--yes").code == 1
    assert lines(aboard("runs", "move", "run2", "-e", "exp2")) == ["run2 (run9): moved"]
    assert [row[0] for row in rows(aboard("runs", "list", "-e", "name:job2300"))] == ["run2"]
    assert lines(aboard("runs", "delete", "name:run9"))[0].startswith("run2 (run9): moved to trash")
