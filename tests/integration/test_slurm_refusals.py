# SPDX-License-Identifier: Apache-2.0
"""What is left of units that Slurm does not take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aboard.errors import ExecutorUnavailable, UnitRefused
from aboard.executors import Slurm
from aboard.model.units import UnitSpec
from support.slurm_stand_in import ANSWERS, REFUSED, UNTAKEN, SlurmStandIn


def _slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *fates: str) -> Slurm:
    """One that takes two units as one array."""
    programs = SlurmStandIn(tmp_path / "slurm", largest_array=2, fates=fates).programs
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return Slurm(folder=str(tmp_path / "units"))


def _unit() -> UnitSpec:
    return UnitSpec(name="train", command=("true",), environment={"ABOARD_TOKEN": "secret"})


def _left(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "units").iterdir() if path.is_dir()}


def test_a_unit_that_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm, unit = _slurm(tmp_path, monkeypatch, REFUSED), _unit()
    with pytest.raises(UnitRefused, match="Invalid qos"):
        slurm.submit(unit)
    assert _left(tmp_path) == set()
    assert slurm.find(unit.id) is None
    slurm.submit(unit)  # the same unit can be taken later
    assert _left(tmp_path) == {unit.id}


def test_where_slurm_is_not_installed_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    slurm = Slurm(folder=str(tmp_path / "units"))
    for submit in (lambda: slurm.submit(_unit()), lambda: slurm.submit_array([_unit(), _unit()])):
        with pytest.raises(UnitRefused, match=r"(?s)Slurm is not installed on this machine.*--executor local"):
            submit()
        assert not (tmp_path / "units").exists() or _left(tmp_path) == set()


def test_a_unit_that_nobody_answered_for_stays_to_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm, unit = _slurm(tmp_path, monkeypatch, UNTAKEN), _unit()
    with pytest.raises(ExecutorUnavailable):
        slurm.submit(unit)
    assert _left(tmp_path) == {unit.id}


def test_the_part_of_an_array_that_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm, units = _slurm(tmp_path, monkeypatch, ANSWERS, REFUSED), [_unit() for _ in range(6)]
    with pytest.raises(UnitRefused, match="Invalid qos"):
        slurm.submit_array(units)
    assert _left(tmp_path) <= {unit.id for unit in units[:2]}  # of which some may run already
