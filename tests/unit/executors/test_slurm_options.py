# SPDX-License-Identifier: Apache-2.0
"""What sbatch is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.executors import Slurm
from aboard.executors import slurm as slurm_module
from aboard.model.units import Resources, UnitSpec


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments of sbatch, once a unit was submitted."""
    arguments: list[str] = []

    def submit(*words: str) -> str:
        arguments.extend(words)
        return "7"

    monkeypatch.setattr(slurm_module, "check_installed", lambda: None)
    monkeypatch.setattr(slurm_module, "run_slurm", submit)
    return arguments


def unit(**options: object) -> UnitSpec:
    return UnitSpec(name="train", command=("true",), **options)  # pyright: ignore[reportArgumentType]


def test_a_timeout_becomes_a_time_limit_with_minutes_to_spare(tmp_path: Path, given: list[str]) -> None:
    Slurm(folder=str(tmp_path)).submit(unit(timeout=3600.0, grace=30.0))
    assert "--time=63" in given  # the keeper ends the unit first, and reports why


def test_a_time_limit_by_hand_wins(tmp_path: Path, given: list[str]) -> None:
    Slurm(folder=str(tmp_path), time_limit="1-00:00:00").submit(unit(timeout=3600.0))
    assert [word for word in given if word.startswith("--time")] == ["--time=1-00:00:00"]


def test_without_a_timeout_the_limit_is_that_of_the_partition(tmp_path: Path, given: list[str]) -> None:
    Slurm(folder=str(tmp_path), partition="gpu").submit(unit())
    assert "--partition=gpu" in given
    assert not [word for word in given if word.startswith("--time")]


def test_resources_are_rounded_up(tmp_path: Path, given: list[str]) -> None:
    resources = Resources(cpus=1.5, memory=(1 << 30) + 1, gpus=2, gpu_type="a100")
    Slurm(folder=str(tmp_path)).submit(unit(resources=resources))
    assert {"--cpus-per-task=2", "--mem=1025M", "--gres=gpu:a100:2"} <= set(given)
