# SPDX-License-Identifier: Apache-2.0
"""Executors by name, also those of other packages."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import pytest

from aboard import add_tensorboard, executors
from aboard.errors import ExecutorUnavailable, InvalidType, MissingPackage, UnknownName
from aboard.executors import Local, executor_names, make_executor


def test_names_lead_to_executors() -> None:
    assert make_executor("local", {"folder": "/x"}) == Local(folder="/x")
    assert {"local", "ssh"} <= set(executor_names())


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName) as refused:
        make_executor("locl")
    assert "did you mean 'local'" in refused.value.hint
    assert "ssh" in refused.value.hint


def test_a_missing_extra_is_told_without_the_frames_of_its_import(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aboard.executors.vertex", "aboard.executors.vertex"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "google.cloud.aiplatform_v1", None)
    monkeypatch.delitem(vars(executors), "Vertex", raising=False)
    with pytest.raises(MissingPackage, match=r"aboard\[vertex\]") as missing:
        _ = executors.Vertex
    shown = "".join(traceback.format_exception(missing.value)).splitlines()
    assert len(shown) < 12, shown


def test_a_board_beside_an_experiment_is_refused_without_the_frames_of_a_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))
    executor = executors.Kubernetes(kubeconfig=str(tmp_path / "none"))
    with pytest.raises(ExecutorUnavailable, match="no Kubernetes cluster is configured") as refused:
        add_tensorboard("exp", "s3://bucket/logs", 7431, executor=executor)
    shown = "".join(traceback.format_exception(refused.value)).splitlines()
    assert len(shown) < 12, shown


def _install(folder: Path, target: str) -> None:
    """What an installed package leaves beside its modules."""
    info = folder / "others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[aboard.executors]\nothers = {target}\nlocal = {target}\n")
    (folder / "others_executor.py").write_text(
        "from dataclasses import dataclass\n"
        "from aboard.executors import Local\n"
        "@dataclass(frozen=True)\n"
        "class Others(Local):\n"
        "    name = 'others'\n"
        "    queue: str = ''\n"
        "thing = 3\n"
    )


@pytest.fixture(autouse=True)
def _forgotten_module() -> None:
    sys.modules.pop("others_executor", None)


def test_other_packages_add_executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "others_executor:Others")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "others" in executor_names()
    made = make_executor("others", {"queue": "fast"})
    assert made.options == {"queue": "fast"}
    with pytest.raises(InvalidType) as refused:
        make_executor("others", {"quue": "fast"})
    assert "queue" in refused.value.hint
    assert type(make_executor("local")) is Local, "a name of aboard's own was taken"


def test_an_entry_point_that_is_no_executor_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "others_executor:thing")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidType, match="others_executor:thing"):
        make_executor("others")


def test_an_entry_point_that_cannot_be_loaded_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "absent_module:Thing")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingPackage, match="absent_module"):
        make_executor("others")
