# SPDX-License-Identifier: Apache-2.0
"""XGBoost, LightGBM and scikit-learn; searches in which every candidate or trial is a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.trained_examples import EXAMPLES, train, train_alone

pytestmark = pytest.mark.timeout(400)


@pytest.mark.framework("XGBoost", "xgboost-cpu", shows="`XGBoostCallback`")
def test_xgboost(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "xgboost_train.py")
    board = trained.board()
    assert board.tags("scalars") == {stage: {"logloss", "auc"} for stage in ("train", "test")}
    losses = board.curve("train", "logloss")
    assert [step for step, _ in losses] == list(range(10))
    assert losses[-1][1] < losses[0][1]
    hparams = trained.run().hparams
    assert (hparams["objective"], hparams["max_depth"]) == ("binary:logistic", 2)
    assert hparams["eta"] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.framework("LightGBM", "lightgbm", shows="`LightGBMCallback`")
def test_lightgbm(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "lightgbm_train.py")
    board = trained.board()
    assert board.tags("scalars") == {stage: {"binary_logloss", "auc"} for stage in ("train", "test")}
    assert board.steps("test", "auc") == list(range(10))
    assert trained.run().hparams["num_leaves"] == 4


@pytest.mark.framework("scikit-learn", "scikit-learn", shows="`log_fit`, `log_search`: a run for each candidate")
def test_scikit_learn(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "sklearn_search.py")
    board = trained.board()
    assert len(board.steps("train", "loss")) > 1
    assert board.steps("test", "score") == [len(board.steps("train", "loss"))]
    assert trained.run().hparams["estimator"] == "MLPClassifier"
    candidates = [run for run in trained.runs().values() if run.experiment == "depths"]
    assert {run.hparams["decisiontreeclassifier__max_depth"] for run in candidates} == {1, 3}
    assert [run.tags for run in candidates if run.tags] == [{"best": ""}]
    for run in candidates:
        assert trained.board(run.name).steps(".", "split/test_score") == [0, 1, 2]
        assert 0 < run.metrics["mean_test_score"].last.value <= 1


@pytest.mark.framework("Optuna", "optuna", shows="`tracked`: a run for each trial, in one experiment")
def test_optuna(tmp_path: Path) -> None:
    trained = train_alone(tmp_path, EXAMPLES / "optuna_study.py")
    trials = {run.tags["optuna.trial"]: run for run in trained.runs().values()}
    assert {run.experiment for run in trials.values()} == {"parabola"}
    assert [str(trials[number].status) for number in "012"] == ["completed", "cancelled", "completed"]
    for run in trials.values():
        assert -1 <= float(str(run.hparams["x"])) <= 1
        board = trained.board(run.name)
        assert board.steps(".", "objective") == list(range(5))
        assert board.steps(".", "value")[:5] == list(range(5))
