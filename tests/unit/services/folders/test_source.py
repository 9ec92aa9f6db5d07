# SPDX-License-Identifier: Apache-2.0
"""Runs of folders: what they are called, what is known of them, and what people add to them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.errors import DamagedDocument
from aboard.foundation.files import written_aside
from aboard.model.runs import Note
from aboard.model.states import RunState
from aboard.reader.collection import RunCollection
from aboard.services.folders.edits import FolderEdits, with_changes
from aboard.services.folders.folder_run import FolderRun
from aboard.services.folders.source import FolderSource
from aboard.store import open_store
from support.logged_runs import log_more
from support.stored_runs import store_run


class Clock:
    """A clock that moves when somebody looks at it, so that every look finds what is new."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 1
        return self._now


def opened(home: Path, **roots: Path) -> FolderSource:
    collection = RunCollection({name.replace("top", ""): root for name, root in roots.items()}, notifications=False)
    collection.refresh()
    return FolderSource(collection, home=home, title="logs", monotonic=Clock())


def by_name(source: FolderSource) -> dict[str, FolderRun]:
    return {run.name: run for run in source.runs()}


def log(folder: Path, *values: float, tag: str = "loss", first: int = 0) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step, value in enumerate(values, first):
            writer.add_scalar(tag, value, step, walltime=1000.0 + step)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_run_has_the_summaries_of_all_its_logdirs(logs, home):
    log(logs / "a" / "train", 3.0, 1.0, 2.0)
    log(logs / "a" / "eval", math.nan)
    run = by_name(opened(home, top=logs))["a"]
    assert set(run.metrics) == {"train/loss", "eval/loss"}
    record = run.record()
    train = record.metrics["train/loss"]
    assert (train.last.value, train.smallest.value, train.smallest.step, train.largest.value) == (2.0, 1.0, 1, 3.0)
    assert record.metrics["eval/loss"].smallest is None
    assert record.duration == 2.0
    assert record.status is RunState.COMPLETED
    assert record.files == 2


def test_hyperparameters_are_those_of_the_folder_and_of_the_session_below_it(logs, home):
    with SummaryWriter(str(logs / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_hparams({"lr": 0.1, "optimizer": {"name": "adam"}}, {"acc": 1.0})
    run = by_name(opened(home, top=logs))["a"]
    assert run.hparams["lr"] == 0.1
    assert "loss" in run.metrics


def test_runs_of_a_store_have_what_their_documents_say(tmp_path, home):
    (tmp_path / "store").mkdir()
    store = open_store(str(tmp_path / "store"))
    uid = store_run(store, name="best", workspace="vision", tags={"team": "a"}, status=RunState.FAILED)
    log_more(store, uid, curves={"loss": [1.0]}, logdir="train")
    run = by_name(opened(home, top=tmp_path / "store"))["best"]
    assert (run.uid, run.status, run.tags) == (uid, RunState.FAILED, {"team": "a"})
    assert list(run.metrics) == ["train/loss"]


def test_named_roots_stand_before_the_names_of_their_runs(logs, home):
    log(logs / "x" / "a", 1.0)
    log(logs / "y", 1.0)
    assert set(by_name(opened(home, first=logs / "x", second=logs / "y"))) == {"first/a", "second"}


def test_new_points_and_new_runs_appear(logs, home):
    log(logs / "a", 1.0)
    source = opened(home, top=logs)
    before = source.runs()
    assert source.runs() is before
    log(logs / "a", 5.0, first=1)
    log(logs / "b", 1.0)
    source.collection.refresh()
    runs = by_name(source)
    assert runs["a"].metrics["loss"].last.value == 5.0
    assert runs["a"] is before[0]
    assert [runs["a"].number, runs["b"].number] == [1, 2]


def test_uids_are_the_same_at_the_next_opening(logs, home):
    log(logs / "a", 1.0)
    first, second = (by_name(opened(home, top=logs))["a"].uid for _ in range(2))
    assert first == second


def test_edits_are_there_at_the_next_opening_and_nothing_is_written_into_the_folder(logs, home):
    log(logs / "a", 1.0)
    before = sorted(logs.rglob("*"))
    source = opened(home, top=logs)
    (run,) = source.runs()
    note = Note(text="why", author="me")
    source.edit([run], lambda edit: with_changes(edit, name="baseline", set_tags={"x": "1"}, remove_tags=(), note=note))
    again = by_name(opened(home, top=logs))["baseline"]
    assert (again.tags, again.notes, again.plain_name) == ({"x": "1"}, (note,), "a")
    assert sorted(logs.rglob("*")) == before


def test_two_processes_keep_each_others_edits(home):
    first, second = FolderEdits(home, "/logs"), FolderEdits(home, "/logs")
    first.change(["a"], lambda edit: replace(edit, name="one"))
    second.change(["b"], lambda edit: replace(edit, name="two"))
    kept = FolderEdits(home, "/logs")
    assert (kept.of("a").name, kept.of("b").name) == ("one", "two")


def test_an_edit_of_many_runs_is_one_change_of_the_document(home, monkeypatch):
    """A write for each run would take minutes for a few thousand."""
    edits, written = FolderEdits(home, "/logs"), list[Path]()

    def counted(file):
        written.append(file)
        return written_aside(file)

    monkeypatch.setattr("aboard.services.folders.edits.written_aside", counted)
    paths = [f"run{number}" for number in range(50)]
    edits.change(paths, lambda edit: replace(edit, name="same"))
    assert len(written) == 1
    assert {FolderEdits(home, "/logs").of(path).name for path in paths} == {"same"}


def test_a_damaged_document_of_edits_is_an_error_and_is_not_overwritten(home):
    edits = FolderEdits(home, "/logs")
    edits.change(["a"], lambda edit: replace(edit, name="one"))
    (file,) = (home / "folders").glob("*.json")
    file.write_text("{")
    with pytest.raises(DamagedDocument):
        edits.change(["a"], lambda edit: replace(edit, name="two"))
    assert file.read_text() == "{"
