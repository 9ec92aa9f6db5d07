# SPDX-License-Identifier: Apache-2.0
"""`Run` under `aboard run`: what its calls write, and what they say about values that cannot be logged."""

from __future__ import annotations

import argparse
import enum
import json
import logging
import math
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from aboard import Run
from aboard._native import scalars_in_records
from aboard.errors import InvalidType, InvalidValue, StorageUnavailable
from aboard.model.names import new_uid
from aboard.run.environment import RunContext, context_from, variables_of


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """The environment of a run that `aboard run` has begun."""
    place = RunContext(
        spool=tmp_path / "spool", uid=new_uid(), name="run7", workspace="lab", attempt=2, output=tmp_path / "output"
    )
    place.spool.mkdir()
    for name, value in variables_of(place).items():
        monkeypatch.setenv(name, value)
    for name in ("RANK", "SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def run(place: RunContext) -> Iterator[Run]:
    with Run() as run:
        yield run


def points(folder: Path) -> list[tuple[str, int, float]]:
    return [
        (tag, step, value)
        for path in sorted(folder.glob("*tfevents*"))
        for tag, _, step, value in scalars_in_records(path.read_bytes())[0]
    ]


def facts(place: RunContext, kind: str) -> list[dict[str, object]]:
    lines = (place.spool / "facts.jsonl").read_text().splitlines()
    return [fact for line in lines if (fact := json.loads(line))["kind"] == kind]


def test_the_environment_comes_back(place: RunContext, run: Run) -> None:
    import os

    assert context_from(os.environ) == place
    assert (run.name, run.uid, run.workspace, run.attempt, run.experiment) == ("run7", place.uid, "lab", 2, None)
    assert run.output_dir == place.output
    assert run.tensorboard_dir == place.output / "tensorboard"


def test_steps_are_named_or_counted(place: RunContext, run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run.log_metrics({"epoch": 4, "loss": 1.0}, step_name="epoch", stage="train")
    run.log_metrics({"epoch": np.int64(5), "loss": 2.0}, step_name="epoch", stage="train")
    run.log_metrics({"epoch": 6.0, "loss": 3.0}, step_name="epoch", stage="train")
    run.log_metrics({"a": 1}, stage="test")
    run.log_metrics({"a": 2}, stage="test")
    run.log_metrics({"b": 3}, step_name="epoch", stage="eval")
    run.log_metrics({"epoch": 0.5, "c": 3}, step_name="epoch", stage="half")
    run.log_metrics({"epoch": 0.7, "c": 4}, step_name="epoch", stage="half")
    run.flush()
    folder = run.tensorboard_dir
    assert points(folder / "train") == [("loss", 4, 1.0), ("loss", 5, 2.0), ("loss", 6, 3.0)]
    assert points(folder / "test") == [("a", 1, 1.0), ("a", 2, 2.0)]
    assert points(folder / "eval") == [("b", 1, 3.0)]
    assert [(tag, step) for tag, step, _ in points(folder / "half")] == [("epoch", 1), ("c", 1), ("epoch", 2), ("c", 2)]
    said = [record.getMessage() for record in caplog.records]
    assert len([text for text in said if "no 'epoch' among the values of stage 'eval'" in text]) == 1
    assert len([text for text in said if "0.5, which is not a whole number" in text]) == 1


def test_values_that_are_no_numbers_are_left_out_and_said_once(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            run.log_metrics(
                {"none": None, "text": "high", "many": [1, 2], "nan": math.nan, "bool": True, "one": np.array([2.5])}
            )
    run.flush()
    found = points(run.tensorboard_dir)
    assert {tag for tag, _, _ in found} == {"nan", "bool", "one"}
    assert [step for tag, step, _ in found if tag == "one"] == [1, 2, 3]
    assert all(math.isnan(value) for tag, _, value in found if tag == "nan")
    said = [record.getMessage() for record in caplog.records]
    for name in ("'none'", "'text'", "'many'", "'nan'"):
        assert len([text for text in said if name in text]) == 1, said


def test_batches_are_counted_in_their_group(place: RunContext) -> None:
    with Run(batch_group="Determined") as run:
        run.log_batch_metrics({"loss": 1})
        run.log_batch_metrics({"loss": 2})
        run.log_batch_metrics({"loss": 3}, batch=10)
    assert points(run.tensorboard_dir / "train") == [
        ("Determined/loss", 1, 1.0),
        ("Determined/loss", 2, 2.0),
        ("Determined/loss", 10, 3.0),
    ]


class Color(enum.Enum):
    RED = 1


@dataclass
class Config:
    lr: float = 0.5
    color: Color = Color.RED


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": {"b": np.float32(0.5)}, "c": Path("x")}, {"a.b": 0.5, "c": "x"}),
        (Config(), {"lr": 0.5, "color": "Color.RED"}),
        (argparse.Namespace(lr=1, flag=None), {"lr": 1, "flag": None}),
        ({"many": (1, 2), "nan": math.nan}, {"many": "[1, 2]", "nan": "NaN"}),
    ],
)
def test_hyperparameters_of_any_kind(place: RunContext, given: object, expected: dict[str, object]) -> None:
    with Run(hparams=given):
        pass
    (fact,) = facts(place, "hparams")
    assert fact["values"] == expected


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda run: run.log_metrics([1, 2]), InvalidType),
        (lambda run: run.log_metrics({"a": 1}, stage="../up"), InvalidValue),
        (lambda run: run.log_metrics({"a": 1}, stage=7), InvalidType),
        (lambda run: run.log_hparams(7), InvalidType),
        (lambda run: run.finish("running"), InvalidValue),
        (lambda run: run.finish("great"), InvalidValue),
        (lambda run: run.checkpoint({"a": object()}), InvalidType),
        (lambda run: run.checkpoint({}, "missing.pt"), StorageUnavailable),
        (lambda run: run.log_artifact("missing.pt"), InvalidValue),
        (lambda run: run.log_artifact(__file__, "../x"), InvalidValue),
        (lambda run: run.log_event(""), InvalidType),
        (lambda _: Run(flush_timeout=-1), InvalidValue),
        (lambda _: Run(tags=7), InvalidType),  # pyright: ignore[reportArgumentType] (wrong on purpose)
    ],
)
def test_mistakes_are_told(run: Run, call: Callable[[Run], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(run)
    run.log_metrics({"still": 1})


def test_checkpoints_are_whole(place: RunContext, run: Run, tmp_path: Path) -> None:
    assert run.resume() is None
    model = tmp_path / "model.pt"
    for epoch in range(4):
        model.write_text(f"weights {epoch}")
        run.checkpoint({"epoch": epoch}, model, best=0.5)
    found = run.resume()
    assert found is not None
    assert found.state == {"epoch": 3, "best": 0.5}
    assert found.file is not None
    assert found.file.read_text() == "weights 3"
    assert len(list((place.output / "checkpoint").iterdir())) == 3  # two files and the index
    found.file.write_text("cut")  # the machine vanished while it was shipped
    again = run.resume()
    assert again is not None
    assert again.state["epoch"] == 2
    run.clear_checkpoint()
    assert run.resume() is None


def test_what_a_script_asks_for_in_vain_is_said(place: RunContext, caplog: pytest.LogCaptureFixture) -> None:
    with Run(name="other", workspace="lab", store="s3://x"):
        pass
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "Run(name='other') is ignored" in said
    assert "Run(store=…) is ignored" in said
    assert "workspace" not in said.replace("of workspace", "")


def test_other_ranks_log_when_asked_to(place: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    with Run(tags=["x"]) as silent:
        silent.log_metrics({"loss": 1}, stage="train")
    assert not (place.spool / "facts.jsonl").exists()
    assert not place.tensorboard.exists()
    with Run(all_ranks=True) as run:
        run.log_metrics({"loss": 1}, stage="train")
    assert points(place.tensorboard / "rank3/train") == [("loss", 1, 1.0)]


def test_the_end_is_said_once(place: RunContext) -> None:
    with pytest.raises(ZeroDivisionError), Run() as run:
        run.log_metrics({"a": 1 / 0})
    run.finish("completed")
    (fact,) = facts(place, "status")
    assert (fact["status"], fact["reason"]) == ("failed", "ZeroDivisionError: division by zero")
    assert run.status == "failed"


def test_profiles_of_ranks_do_not_replace_each_other(
    place: RunContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = socket.gethostname()
    profile = tmp_path / "local/plugins/profile/now" / f"{host}.xplane.pb"
    profile.parent.mkdir(parents=True)
    (tmp_path / "local/model.bin").write_text("no")
    for rank in (0, 3):
        monkeypatch.setenv("RANK", str(rank))
        profile.write_text(f"rank {rank}")
        run = Run()
        (kept,) = run.log_board_files(tmp_path / "local")
        assert kept.read_text() == f"rank {rank}"
        run.finish()
    names = sorted(path.name for path in (place.tensorboard / "plugins/profile/now").iterdir())
    assert names == [f"{host}#3.xplane.pb", f"{host}.xplane.pb"]
    run = Run()
    (other,) = run.log_board_files(
        tmp_path / "local", select=lambda path: path.suffix == ".bin", rename=lambda path, rank: Path(f"{rank}-{path}")
    )
    assert other.name == "3-model.bin"
    with pytest.raises(InvalidValue, match="cannot be the new name"):
        run.log_board_files(tmp_path / "local", rename=lambda path, rank: Path("../x"))
    with pytest.raises(InvalidValue, match="There is no folder"):
        run.log_board_files(tmp_path / "missing")
    with pytest.raises(InvalidValue, match="kept anyway"):
        run.log_board_files(place.output)
    run.finish()


def test_a_run_that_is_switched_off_writes_nothing(place: RunContext, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local/a.trace.json").write_text("{}")
    run = Run(enabled=False, hparams={"lr": 1})
    run.log_metrics({"loss": 1.0})
    run.log_batch_metrics({"loss": 1.0})
    run.checkpoint({"epoch": 1})
    run.note("x")
    assert run.log_board_files(tmp_path / "local") == []
    assert run.resume() is None
    run.finish()
    assert not place.output.exists()
    assert list(place.spool.iterdir()) == []
    with pytest.raises(InvalidType):
        run.log_metrics(5)  # pyright: ignore[reportArgumentType] (wrong on purpose)
