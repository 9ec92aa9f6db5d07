# SPDX-License-Identifier: Apache-2.0
"""`aboard import`: runs that wandb, MLflow, Trackio and Aim have written here and now become runs of a store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import aboard
from aboard.store import open_store
from aboard.store.run.listing import RunListing
from aboard.store.run.loading import load_run
from aboard.store.run.run_folder import RunFolder

pytestmark = pytest.mark.timeout(300)
OFFLINE = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "HF_HUB_OFFLINE": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}

WANDB = """
    import wandb
    run = wandb.init(project="digits", name="first", dir=".", tags=["best"], notes="words",
                     config={"lr": 0.1, "optimizer": {"name": "adam"}})
    for step in range(5):
        run.log({"loss": 1 / (step + 1), "val/acc": step / 10, "nested": {"x": step}, "comment": "text"})
    run.log({"loss": float("nan"), "huge": 16777217})
    run.finish()
"""
MLFLOW = """
    import mlflow
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    mlflow.set_experiment("digits")
    with mlflow.start_run(run_name="first", description="words"):
        mlflow.log_params({"lr": 0.1, "layers": 3, "flag": True, "name": "x"})
        mlflow.set_tag("best", "yes")
        for step in range(5):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
    try:
        with mlflow.start_run(run_name="second"):
            raise RuntimeError
    except RuntimeError:
        pass
"""
TRACKIO = """
    import trackio
    trackio.init(project="digits", name="first", config={"lr": 0.1, "optimizer": {"name": "adam"}}, embed=False)
    for step in range(5):
        trackio.log({"loss": 1 / (step + 1), "comment": "text"})
    trackio.finish()
"""
AIM = """
    import aim
    run = aim.Run(repo=".", experiment="digits", system_tracking_interval=None, capture_terminal_logs=False)
    run.name, run.description = "first", "words"
    run["hparams"] = {"lr": 0.1, "optimizer": {"name": "adam"}}
    run["seed"] = 7
    run.add_tag("best")
    for step in range(5):
        run.track(1 / (step + 1), name="loss", step=step, context={"subset": "train"})
        run.track(step / 10, name="acc", step=step)
    run.track(aim.Text("words"), name="comment", step=0)
    run.close()
"""


def _python(folder: Path, script: str, **environment: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env={**os.environ, **OFFLINE, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]


def _import(folder: Path, *arguments: object) -> tuple[int, list[dict[str, str]], str]:
    ended = subprocess.run(
        [sys.executable, "-c", "from aboard.cli import main; main()", "import", *map(str, arguments), "--json"],
        cwd=folder,
        env={**os.environ, **OFFLINE, "ABOARD_HOME": str(folder / "home"), "ABOARD_STORE": str(folder / "store")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    items = json.loads(ended.stdout)["items"] if ended.stdout else []
    return ended.returncode, items, ended.stderr


def _runs(folder: Path):
    store = open_store(str(folder / "store"), read_only=True)
    loaded = [load_run(RunFolder(store, uid)).run for uid in RunListing(store).new()]
    return {run.name: run for run in loaded if run}


def _points(folder: Path, uid: str, tag: str) -> list[tuple[int, float]]:
    (run,) = aboard.open(folder / "store" / uid / "tb").runs
    return list(zip(run.scalars[tag].steps.tolist(), run.scalars[tag].values.tolist(), strict=True))


def test_wandb_offline(tmp_path: Path) -> None:
    _python(tmp_path, WANDB)
    code, (item,), said = _import(tmp_path, "wandb", "wandb")
    assert (code, item["state"]) == (0, "shipped")
    assert "5 str" in said  # what is no number is told
    run = _runs(tmp_path)["first"]
    assert (run.experiment, str(run.status), run.tags) == ("digits", "completed", {"best": ""})
    assert run.hparams == {"lr": 0.1, "optimizer.name": "adam"}
    assert [note.text for note in run.notes] == ["words"]
    losses = _points(tmp_path, run.uid, "loss")
    assert losses[:5] == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]
    assert losses[5][1] != losses[5][1]
    assert _points(tmp_path, run.uid, "val/acc")[4] == (4, pytest.approx(0.4))
    assert _points(tmp_path, run.uid, "nested.x")[4] == (4, 4.0)
    assert _points(tmp_path, run.uid, "huge") == [(5, 16777217.0)]
    assert _import(tmp_path, "wandb", "wandb")[1][0]["state"] == "complete"


def test_wandb_killed_in_the_middle(tmp_path: Path) -> None:
    _python(tmp_path, WANDB)
    (file,) = tmp_path.glob("wandb/offline-*/run-*.wandb")
    file.write_bytes(file.read_bytes()[:-700])
    code, (item,), _ = _import(tmp_path, "wandb", file)
    assert (code, item["state"]) == (0, "shipped")
    assert str(_runs(tmp_path)["first"].status) == "lost"


def test_wandb_records_longer_than_a_block(tmp_path: Path) -> None:
    _python(tmp_path, WANDB.replace('"adam"', '"adam" * 20_000'))
    code, (item,), _ = _import(tmp_path, "wandb", "wandb")
    assert (code, item["state"]) == (0, "shipped")
    run = _runs(tmp_path)["first"]
    assert run.hparams["optimizer.name"] == "adam" * 20_000
    assert len(_points(tmp_path, run.uid, "loss")) == 6


def test_a_file_that_is_not_of_wandb(tmp_path: Path) -> None:
    (tmp_path / "run-1.wandb").write_bytes(b"not a log")
    code, items, messages = _import(tmp_path, "wandb", "run-1.wandb")
    assert (code, items) == (1, [])
    assert "run-1.wandb is not a file of wandb" in messages


def test_mlflow(tmp_path: Path) -> None:
    _python(tmp_path, MLFLOW)
    code, items, _ = _import(tmp_path, "mlflow", "mlflow.db", "--workspace", "lab")
    assert (code, [item["state"] for item in items]) == (0, ["shipped", "shipped"])
    runs = _runs(tmp_path)
    first = runs["first"]
    assert (first.workspace, first.experiment, str(first.status)) == ("lab", "digits", "completed")
    assert first.hparams == {"lr": 0.1, "layers": 3, "flag": True, "name": "x"}
    assert first.tags == {"best": "yes"}
    assert first.ended is not None
    assert _points(tmp_path, first.uid, "loss") == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]
    assert str(runs["second"].status) == "failed"


def test_trackio(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    _python(tmp_path, TRACKIO, TRACKIO_DIR=str(projects))
    code, (item,), said = _import(tmp_path, "trackio", projects)
    assert (code, item["state"]) == (0, "shipped")
    assert "5 str" in said
    run = _runs(tmp_path)["first"]
    assert (run.experiment, run.hparams) == ("digits", {"lr": 0.1, "optimizer.name": "adam"})
    assert _points(tmp_path, run.uid, "loss") == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]


def test_aim(tmp_path: Path) -> None:
    _python(tmp_path, AIM)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".aim").rglob("*")}
    code, (item,), said = _import(tmp_path, "aim", tmp_path)
    assert (code, item["state"]) == (0, "shipped")
    assert "1 texts" in said
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / ".aim").rglob("*")} == before  # it was only read
    run = _runs(tmp_path)["first"]
    assert (run.experiment, str(run.status), run.tags) == ("digits", "completed", {"best": ""})
    assert run.hparams == {"lr": 0.1, "optimizer.name": "adam", "seed": 7}
    assert [note.text for note in run.notes] == ["words"]
    assert _points(tmp_path, run.uid, "train/loss") == [(step, pytest.approx(1 / (step + 1))) for step in range(5)]
    assert _points(tmp_path, run.uid, "acc")[4] == (4, pytest.approx(0.4))
    assert _import(tmp_path, "aim", tmp_path / ".aim")[1][0]["state"] == "complete"


@pytest.mark.parametrize("tool", ["wandb", "mlflow", "trackio", "aim", "other"])
def test_mistakes_are_told(tmp_path: Path, tool: str) -> None:
    code, items, said = _import(tmp_path, tool, "nothing")
    assert (code, items) == (1, [])
    assert "hint:" in said
