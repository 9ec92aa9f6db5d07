# SPDX-License-Identifier: Apache-2.0
"""What follows the creation of a container may fail: then no container is left, and the unit may be tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest
import requests.exceptions

from aboard.errors import AboardError, ExecutorUnavailable, StorageUnavailable, UnitRefused
from aboard.executors import docker as docker_executor
from aboard.executors.docker import Docker
from aboard.executors.local import Local
from aboard.model.units import UnitSpec


def _api_error(said: str, code: int) -> docker.errors.APIError:
    response = SimpleNamespace(status_code=code, reason=said, url="http+docker://here")
    return docker.errors.APIError(said, response=response, explanation=said)  # type: ignore[arg-type]


@dataclass
class Container:
    """One that a daemon has made."""

    daemon: Daemon
    labels: dict[str, str]
    id: str = "container"
    status: str = "created"
    attrs: dict[str, Any] = field(default_factory=lambda: {"State": {"Error": ""}})

    def put_archive(self, place: str, packed: bytes) -> None:
        self.daemon.fail("put_archive")

    def start(self) -> None:
        self.daemon.fail("start")
        self.status = "running"

    def remove(self, *, v: bool = False, force: bool = False) -> None:
        self.daemon.fail("remove")
        if self.status == "running" and not force:
            raise _api_error("stop the container first", 409)
        self.daemon.made.remove(self)


@dataclass
class Daemon:
    """As much of a client as a submission needs; calls fail as they are told to."""

    faults: dict[str, Exception] = field(default_factory=dict)
    made: list[Container] = field(default_factory=list)

    @property
    def containers(self) -> Daemon:
        return self

    @property
    def images(self) -> SimpleNamespace:
        return SimpleNamespace(get=lambda _: None)

    def fail(self, call: str) -> None:
        if call in self.faults:
            raise self.faults[call]

    def list(self, **_: object) -> list[Container]:
        return self.made[:]

    def create(self, **options: Any) -> Container:
        self.made.append(Container(self, options["labels"]))
        return self.made[-1]

    def close(self) -> None:
        pass


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    daemon = Daemon()
    monkeypatch.setattr(docker_executor, "connect", lambda _: daemon)
    return daemon


@pytest.fixture
def unit(tmp_path: Path) -> UnitSpec:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text("print(1)")
    return UnitSpec(name="train", command=("python", "train.py"), image="python", source=str(tmp_path / "source"))


@pytest.mark.parametrize(
    ("call", "fault", "told"),
    [
        ("put_archive", _api_error("permission denied", 403), UnitRefused),
        ("put_archive", _api_error("no space left on device", 500), ExecutorUnavailable),
        ("put_archive", requests.exceptions.ReadTimeout("no answer"), ExecutorUnavailable),
        ("start", _api_error("port is already allocated", 500), UnitRefused),
    ],
)
def test_a_container_that_cannot_be_filled_or_started_goes(
    daemon: Daemon, unit: UnitSpec, call: str, fault: Exception, told: type[AboardError]
) -> None:
    daemon.faults[call] = fault
    with pytest.raises(told):
        Docker().submit(unit)
    assert daemon.made == []
    del daemon.faults[call]
    Docker().submit(unit)
    assert [one.status for one in daemon.made] == ["running"]


def test_what_failed_is_told_though_the_container_cannot_be_removed(daemon: Daemon, unit: UnitSpec) -> None:
    daemon.faults = {"put_archive": _api_error("read-only", 403), "remove": requests.exceptions.ConnectionError("gone")}
    with pytest.raises(UnitRefused, match="read-only"):
        Docker().submit(unit)


def test_a_source_that_cannot_be_packed_makes_no_container(
    daemon: Daemon, unit: UnitSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object, **__: object) -> bytes:
        raise StorageUnavailable("train.py cannot go along")

    monkeypatch.setattr(docker_executor, "source_archive", unreadable)
    monkeypatch.setattr(daemon, "create", lambda **_: pytest.fail("a container was made"))
    with pytest.raises(StorageUnavailable):
        Docker().submit(unit)


def test_a_container_that_nobody_would_end_goes(
    daemon: Daemon, unit: UnitSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Local, spec: UnitSpec) -> None:
        raise ExecutorUnavailable("the unit's keeper cannot be started")

    monkeypatch.setattr(Local, "submit", refused)
    with pytest.raises(ExecutorUnavailable, match="keeper"):
        Docker().submit(UnitSpec(name="train", command=("true",), image="python", timeout=60))
    assert daemon.made == []
