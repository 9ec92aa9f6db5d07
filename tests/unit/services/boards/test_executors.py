# SPDX-License-Identifier: Apache-2.0
"""Which executors, options, images and mounts a server lets people have for boards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aboard.errors import AboardError, Forbidden, InvalidValue
from aboard.executors import Kubernetes, Local, Slurm
from aboard.executors.docker import Docker
from aboard.executors.registry import executor_from
from aboard.model.board_settings import parse_process_settings
from aboard.model.boards import BoardKind, BoardRecord
from aboard.model.names import new_uid
from aboard.model.times import now
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.tensorboard_unit import TensorBoardLocation, tensorboard_unit

TEAM: dict[str, Any] = {
    "allowed": ("local", "docker:pull=never", "slurm:partition=cpu,folder=/shared/units"),
    "images": ("registry.example.org/tb/*",),
    "mounts": ("/data",),
    "shared_folder": Path("/shared/boards"),
}


def test_what_the_server_has_settled_and_what_a_person_adds():
    rules = BoardExecutors(**TEAM)
    assert rules.names == ["local", "docker", "slurm"]
    assert rules.made("docker") == Docker(pull="never")
    assert rules.made("slurm:partition=gpu") == Slurm(partition="gpu", folder="/shared/units")
    settled = rules.settled(parse_process_settings({"executor": "docker", "environment": {"image": ""}}))
    assert (settled.executor, settled.image) == ("docker", "tensorflow/tensorflow")
    assert rules.settled(parse_process_settings({})).executor == "local"
    mounts = [{"host_path": "/data/a", "container_path": "/a"}]
    asked = {"executor": "docker", "image": "registry.example.org/tb/x:1", "bind_mounts": mounts}
    (mount,) = rules.settled(parse_process_settings(asked)).mounts
    assert (mount.source, mount.target, mount.read_only) == ("/data/a", "/a", True)


@pytest.mark.parametrize(
    ("asked", "told", "hint"),
    [
        ({"executor": "moon"}, "no executor 'moon'", "local"),
        ({"executor": "ssh:host=x"}, "may not run on 'ssh'", "local, docker, slurm"),
        ({"executor": "slurm:setup=true"}, "option 'setup' of slurm", "partition"),
        ({"executor": "docker:user=root"}, "option 'user' of docker", "none"),
        ({"executor": "docker", "image": "evil:1"}, "image 'evil:1'", "tb/*"),
        ({"executor": "vertex"}, "may not run on 'vertex'", "local, docker, slurm"),
        ({"executor": "local", "image": "x"}, "neither image nor mounts", "docker"),
        ({"executor": "docker", "bind_mounts": [{"host_path": "/etc", "container_path": "/e"}]}, "'/etc'", "/data"),
        (
            {"executor": "docker", "bind_mounts": [{"host_path": "/data/../etc", "container_path": "/e"}]},
            r"'/data/\.\./etc'",
            "/data",
        ),
    ],
)
def test_what_a_person_may_not(asked: dict[str, Any], told: str, hint: str):
    with pytest.raises(AboardError, match=told) as refused:
        BoardExecutors(**TEAM).settled(parse_process_settings(asked))
    assert hint in refused.value.hint


def test_a_link_does_not_lead_out_of_what_is_allowed(tmp_path: Path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "link").symlink_to("/etc")
    rules = BoardExecutors(**{**TEAM, "mounts": (str(tmp_path / "open"),)})
    mounts = [{"host_path": str(tmp_path / "open" / "link"), "container_path": "/e"}]
    with pytest.raises(Forbidden, match="may not be shown"):
        rules.settled(parse_process_settings({"executor": "docker", "bind_mounts": mounts}))


def test_alone_with_a_server_everything_is_allowed():
    rules = BoardExecutors(is_personal=True)
    assert {"local", "docker", "slurm", "ssh", "kubernetes"} <= {*rules.names}
    assert "vertex" not in rules.names
    with pytest.raises(InvalidValue, match="Vertex serves no boards of aboard") as refused:
        rules.settled(parse_process_settings({"executor": "vertex"}))
    assert "docker" in refused.value.hint
    assert rules.made("docker:user=me") == Docker(user="me")
    mounts = [{"host_path": "/etc", "container_path": "/e", "read_only": False}]
    settled = rules.settled(parse_process_settings({"executor": "docker", "image": "x", "bind_mounts": mounts}))
    assert settled.mounts[0].source == "/etc"


def test_copies_that_cannot_be_seen(tmp_path: Path):
    own = tmp_path / "board"
    rules = BoardExecutors(is_personal=True)
    assert rules.mirror_place(Local(), own) == rules.mirror_place(Docker(address="unix:///x"), own) == own
    for text in ("slurm", "ssh:host=x", "docker:address=tcp://10.0.0.7:2375"):
        with pytest.raises(InvalidValue, match="cannot see the folder") as refused:
            rules.settled(parse_process_settings({"executor": text}))
        assert "boards.shared_folder" in refused.value.hint
        assert "local" in refused.value.hint
    shared = BoardExecutors(is_personal=True, shared_folder=tmp_path / "shared")
    assert shared.mirror_place(Slurm(), own).is_relative_to(tmp_path / "shared")
    with pytest.raises(InvalidValue, match="pods of Kubernetes cannot see"):
        shared.settled(parse_process_settings({"executor": "kubernetes"}))


def test_a_default_that_nobody_may_use():
    with pytest.raises(InvalidValue, match=r"boards\.executors does not have"):
        BoardExecutors(default="docker").check()
    with pytest.raises(AboardError, match="no option 'queue'"):
        BoardExecutors(allowed=("slurm:queue=x",)).check()


@pytest.mark.parametrize(
    "wrong",
    [
        {"environment": {"variables": {}}},
        {"environment": "x"},
        {"bind_mounts": "/data"},
        {"bind_mounts": [{"host_path": "data", "container_path": "/d"}]},
        {"bind_mounts": [{"host_path": "/data", "container_path": "d"}]},
        {"bind_mounts": [{"host_path": "/data", "container_path": "/d", "mode": 1}]},
        {"image": 7},
        {"image": "a b"},
        {"executor": ["local"]},
        {"resources": {"slots": 1}},
    ],
)
def test_settings_that_are_none(wrong: dict[str, Any]):
    with pytest.raises(InvalidValue):
        parse_process_settings(wrong)


def test_executors_are_written_as_people_write_them():
    assert str(Local()) == "local"
    assert str(Slurm(partition="gpu", setup=("a", "b"))) == "slurm:partition=gpu,setup=a+b"
    assert str(Docker(volumes={"/a": "/b", "/c": "/d"})) == "docker:volumes=/a:/b+/c:/d"
    assert executor_from(str(Docker(volumes={"/a": "/b"})), "local") == Docker(volumes={"/a": "/b"})
    with pytest.raises(InvalidValue, match="volumes of docker"):
        str(Docker(volumes={"/a,b": "/b"}))


def test_a_pod_sees_the_copies_of_its_board_alone_and_asks_for_no_gpu():
    claims = {"data": "/data", "mirrors": "/shared"}
    rules = BoardExecutors(is_personal=True, shared_folder=Path("/shared/boards"))
    executor = Kubernetes(namespace="boards", claims=claims)
    logs = rules.mirror_place(executor, Path("/here/board")) / "logs"
    board = BoardRecord(
        id="0" * 36,
        name="calm-cat",
        workspace="ws1",
        sources=("run1",),
        created=now(),
        kind=BoardKind.PROCESS,
        settings={"executor": "kubernetes", "image": "tb:1"},
    )
    import kubernetes_validate

    place = TensorBoardLocation(executor=executor, logs=logs, home=Path("/here"), rules=rules)
    service, deployment = executor.manifests(tensorboard_unit(board, new_uid(), place))
    for manifest in (deployment, service):
        kubernetes_validate.validate(manifest, "1.31", strict=True)
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert f"--logdir={logs}" in container["command"]
    below = "boards/aboard-boards/board"
    seen = {"name": "claim-mirrors", "mountPath": f"/shared/{below}", "subPath": below, "readOnly": True}
    assert container["volumeMounts"] == [seen]
    assert [volume["name"] for volume in pod["volumes"]] == ["claim-mirrors"]
    assert set(container["resources"]["limits"]) == {"memory"}
