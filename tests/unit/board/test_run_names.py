# SPDX-License-Identifier: Apache-2.0
"""Runs under names from a template: which values they show, and when they are renamed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.board.names import NamedRuns, folder_columns
from aboard.model.templates import FOLDER_FIELDS, NameTemplate
from aboard.reader.collection import RunCollection
from support.shipping import Hands

LONG_AGO = 0.0


class Board:
    """A collection and its runs by template, looked at anew each time."""

    def __init__(self, template: str, **roots: Path) -> None:
        by_name = {name.removeprefix("_"): path for name, path in roots.items()}
        self.collection = RunCollection(by_name)
        self.clock = Hands()
        self.named = NamedRuns(
            self.collection,
            NameTemplate(template, FOLDER_FIELDS),
            folder_columns(by_name),
            monotonic=self.clock,
            wall_clock=self.clock,
        )

    def names(self, *, after: float = 1.0) -> list[str]:
        self.collection.refresh()
        self.clock.move(after)
        return sorted(self.named.runs)


def log(folder: Path, loss: float = 1.0, *, step: int = 0, walltime: float = LONG_AGO, **hparams: object) -> None:
    with SummaryWriter(folder) as writer:
        writer.add_scalar("loss", loss, step, walltime=walltime)
        if hparams:
            writer.add_hparams(hparams, {}, in_place=True)


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{run}", ["a", "b/train"]),
        ("{root}-{run}", ["logs-a", "logs-b/train"]),
        ("{workspace}_{logdir}", ["logs_a", "logs_train"]),
        ("{run} lr={hparams.lr}", ["a lr=.01", "b/train lr=none"]),
        ("{run} {metrics.loss.last} {metrics.nothing.min}", ["a .5 none", "b/train 2 none"]),
    ],
)
def test_fields_of_runs_in_folders(tmp_path, template, names):
    log(tmp_path / "logs" / "a", 0.5, lr=0.01)
    log(tmp_path / "logs" / "b" / "train", 2.0)
    assert Board(template, _=tmp_path / "logs").names() == names


def test_several_roots_and_the_top_folder(tmp_path):
    log(tmp_path / "x")
    log(tmp_path / "y" / "train")
    board = Board("{root}:{logdir}:{run}", first=tmp_path / "x", second=tmp_path / "y")
    assert board.names() == ["first:first:first", "second:train:second/train"]


def test_statistics_of_a_metric(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        for step, value in enumerate([3.0, float("nan"), 1.0, 7.0, 2.0]):
            writer.add_scalar("val/loss", value, step)
    template = " ".join(f"{{metrics.val/loss.{word}}}" for word in ("first", "last", "min", "max"))
    assert Board(template, _=tmp_path).names() == ["3 2 1 7"]


def test_hparams_of_a_folder_above_or_of_the_only_run_below(tmp_path):
    log(tmp_path / "keras", lr=0.1)
    log(tmp_path / "keras" / "train")
    with SummaryWriter(tmp_path / "torch") as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_hparams({"lr": 0.2}, {"m": 1.0}, name="trial")
    names = Board("{run}={hparams.lr}", _=tmp_path).names()
    assert names == ["keras/train=.1", "keras=.1", "torch/trial=.2", "torch=.2"]


def test_two_runs_below_with_hparams_tell_nothing_of_the_one_above(tmp_path):
    log(tmp_path / "a")
    log(tmp_path / "a" / "1", lr=0.1)
    log(tmp_path / "a" / "2", lr=0.2)
    assert Board("{run}={hparams.lr}", _=tmp_path).names() == ["a/1=.1", "a/2=.2", "a=none"]


def test_two_logdirs_never_collapse(tmp_path):
    for run in ("a/train", "b/train", "c/test"):
        log(tmp_path / run, lr=0.1)
    assert Board("{logdir}", _=tmp_path).names() == ["test", "train_a/train", "train_b/train"]
    assert Board("same", _=tmp_path).names() == ["same_a/train", "same_b/train", "same_c/test"]


def test_names_follow_as_values_become_known(tmp_path):
    log(tmp_path / "a")
    log(tmp_path / "b")
    board = Board("lr={hparams.lr}", _=tmp_path)
    assert board.names() == ["lr=none_a", "lr=none_b"]
    log(tmp_path / "a", step=1, lr=0.1)
    assert board.names() == ["lr=.1", "lr=none_b"]
    log(tmp_path / "b", step=1, lr=0.2)
    assert board.names() == ["lr=.1", "lr=.2"]


def test_earlier_names_are_understood_but_not_listed(tmp_path):
    log(tmp_path / "a")
    board = Board("{run}={hparams.lr}", _=tmp_path)
    assert board.names() == ["a=none"]
    log(tmp_path / "a", step=1, lr=0.1)
    assert board.names() == ["a=.1"]
    runs = board.named.runs
    assert runs["a=none"] is runs["a=.1"]
    assert list(runs) == ["a=.1"]
    assert len(runs) == 1
    assert runs.get("a=.2") is None


def test_a_metric_that_rests_is_followed_and_one_that_moves_only_now_and_then(tmp_path):
    board = Board("{metrics.loss.last}", _=tmp_path)

    def log_now(loss: float, step: int) -> None:
        log(tmp_path / "a", loss, step=step, walltime=board.clock())

    log_now(5.0, 0)
    assert board.names() == ["5"]
    log_now(4.0, 1)
    assert board.names() == ["5"], "the run is live"
    board.clock.move(590)
    log_now(3.0, 2)
    assert board.names() == ["5"], "points come, and it was shown for less than ten minutes"
    board.clock.move(20)
    assert board.names() == ["3"], "it was shown for ten minutes"
    log_now(2.0, 3)
    assert board.names() == ["3"]
    assert board.names(after=61) == ["2"], "no point came for a minute"


def test_a_value_that_was_known_stays_when_the_run_is_read_anew(tmp_path):
    log(tmp_path / "a", lr=0.1)
    board = Board("{run}={hparams.lr}", _=tmp_path)
    assert board.names() == ["a=.1"]
    shutil.rmtree(tmp_path / "a")
    log(tmp_path / "a")
    assert board.names() == ["a=.1"]
    shutil.rmtree(tmp_path / "a")
    log(tmp_path / "a", lr=0.5)
    assert board.names() == ["a=.5"]


def test_runs_that_have_gone_are_gone(tmp_path):
    log(tmp_path / "a")
    log(tmp_path / "b")
    board = Board("{run}", _=tmp_path)
    assert board.names() == ["a", "b"]
    shutil.rmtree(tmp_path / "a")
    assert board.names() == ["b"]
    assert "a" not in board.named.runs
