# SPDX-License-Identifier: Apache-2.0
"""What jobs and boards do with an executor is what it says of itself, also when another package brings it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from aboard.compat.pai.estimator import Estimator
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue
from aboard.executors import Executor, Local, executor_names
from aboard.executors.registry import executor_class, has_ports
from aboard.jobs.experiment_board import board_unit
from aboard.jobs.submission import execution_site, source_for
from aboard.model.board_settings import parse_process_settings
from aboard.model.units import UnitHandle, UnitSpec
from aboard.services.boards.executors import BoardExecutors

BUCKET = "s3://bucket/runs"


class _Elsewhere(Local):
    """A package's executor that shares nothing with this machine; what it starts does not matter here."""

    shares_files: ClassVar[bool] = False
    keeps_disk: ClassVar[bool] = False

    @property
    def is_here(self) -> bool:
        return False


@dataclass(frozen=True)
class Pods(_Elsewhere):
    name: ClassVar[str] = "pods"
    takes_images: ClassVar[bool] = True
    knows_paths: ClassVar[bool] = True
    open_options: ClassVar[frozenset[str]] = frozenset({"queue"})

    queue: str = ""

    def check_path(self, path: str) -> None:
        if not path.startswith("/seen/"):
            raise InvalidValue(f"pods cannot see {path}")


@dataclass(frozen=True)
class Portless(_Elsewhere):
    name: ClassVar[str] = "portless"
    has_ports: ClassVar[bool] = False


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The executors above, as a package brings them."""
    info = tmp_path / "pods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pods\nVersion: 1.0\n")
    lines = "".join(f"{kind.name} = {__name__}:{kind.__name__}\n" for kind in (Pods, Portless))
    (info / "entry_points.txt").write_text(f"[aboard.executors]\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_where_runs_may_be_kept(tmp_path: Path) -> None:
    settings = load_settings()
    here = execution_site(Local(), settings, str(tmp_path))
    assert (here.shares_files, here.keeps_disk) == (True, True)
    there = execution_site(Pods(), settings, "/seen/runs")
    assert (there.shares_files, there.keeps_disk, there.program) == (False, False, ("aboard",))
    with pytest.raises(InvalidValue, match="pods cannot see"):
        execution_site(Pods(), settings, str(tmp_path))
    with pytest.raises(InvalidValue, match="units of portless cannot see the store"):
        execution_site(Portless(), settings, str(tmp_path))
    assert execution_site(Portless(), settings, BUCKET).environment["ABOARD_STORE"] == BUCKET


def test_who_brings_the_source(tmp_path: Path) -> None:
    class Bringing(Pods):
        brings_source: ClassVar[bool] = True

    (tmp_path / "train.py").touch()
    assert source_for(Pods(), tmp_path, tmp_path / "copy", shares=False) == ""  # it goes through the store
    assert source_for(Bringing(), tmp_path, tmp_path / "copy", shares=False) == str(tmp_path)


def test_boards_beside_experiments() -> None:
    _, contained = board_unit(Pods(), "/seen/logs", 6006, None, {}, "tb:1")
    assert (contained.image, contained.command[0], contained.mounts) == ("tb:1", "tensorboard", ())
    _, process = board_unit(_Elsewhere(), BUCKET, 6006, None, {}, "")
    assert (process.image, process.command[:2]) == ("", ("aboard", "view"))
    with pytest.raises(InvalidValue, match="cannot be a job of portless"):
        board_unit(Portless(), BUCKET, 6006, None, {}, "")


@pytest.mark.usefixtures("installed")
def test_boards_of_a_server(tmp_path: Path) -> None:
    alone = BoardExecutors(is_personal=True, shared_folder=Path("/seen"))
    assert "pods" in alone.names
    assert "portless" not in alone.names
    assert alone.settled(parse_process_settings({"executor": "pods", "image": "tb:1"})).image == "tb:1"
    with pytest.raises(InvalidValue, match="serves no boards"):
        alone.settled(parse_process_settings({"executor": "portless"}))
    with pytest.raises(InvalidValue, match="neither image nor mounts") as refused:
        alone.settled(parse_process_settings({"executor": "local", "image": "tb:1"}))
    assert "pods" in refused.value.hint
    team = BoardExecutors(allowed=("local", "pods:folder=/x"), shared_folder=Path("/seen"))
    assert team.made("pods:queue=fast") == Pods(folder="/x", queue="fast")


@pytest.mark.parametrize(("kind", "image"), [(Pods, "torch:1"), (_Elsewhere, "")])
def test_an_image_goes_where_there_are_images(
    kind: Callable[[], Executor], image: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ABOARD_STORE", "/seen/runs" if kind is Pods else BUCKET)
    submitted: list[UnitSpec] = []

    def take(self: Executor, spec: UnitSpec) -> UnitHandle:
        submitted.append(spec)
        return self.handle(spec.id)

    monkeypatch.setattr(Local, "submit", take)
    Estimator("python train.py", image_uri="torch:1", executor=kind()).fit(wait=False)
    assert submitted[0].image == image
    assert ("has no images" in capsys.readouterr().err) is not bool(image)


# That of Vertex is in tests/vertex, where its library is.
@pytest.mark.parametrize("name", sorted({*executor_names()} - {"vertex"}))
def test_what_is_known_without_loading_is_what_the_class_says(name: str) -> None:
    assert executor_class(name).has_ports == has_ports(name)
