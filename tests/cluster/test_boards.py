# SPDX-License-Identifier: Apache-2.0
"""Boards as units on a real Docker daemon, Slurm and sshd, looked at through the proxy of a real server."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import psutil
import pytest

from aboard.api.boards import BoardInfo
from aboard.catalog.catalog import Catalog
from aboard.errors import Forbidden
from aboard.executors import Slurm
from aboard.model.states import RunState, UnitState
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.lifecycle import BoardRules
from aboard.store import Store, open_store
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import logged_run
from support.boards_on_executors import has_started, runs_of
from support.docker_daemon import IMAGE, docker_daemon
from support.processes import until
from support.slurm_cluster import slurm_cluster
from support.ssh_server import ssh_server
from support.team_servers import TeamServer, team_server

PATIENCE = 90.0
pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).parents[2]
TENSORBOARD = f"{sys.executable} -m tensorboard.main"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store(str(tmp_path / "store"), create=True)
    logged_run(store, name="one")
    return store


@contextlib.contextmanager
def serving(store: Store, home: Path, **rules: Any) -> Iterator[TeamServer]:
    executors = BoardExecutors(**{"memory": 1 << 30, "program": TENSORBOARD, **rules})
    options = {"process_home": home, "boards": BoardRules(executors=executors)}
    with Catalog.open(home / "catalog.sqlite") as catalog, team_server(catalog, home, store.uri, options=options) as it:
        until(lambda: it.client().runs.count() == len(list(store.list_folders())), 60)
        yield it


def tensorboards(home: Path) -> list[psutil.Process]:
    """Those of this test's boards, wherever they run: all are on this machine in truth."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if "tensorboard.main --logdir" in words and "--path_prefix=/boards/" in words:
            found.append(process)
    return found


def ended(server: TeamServer, board: BoardInfo) -> BoardInfo:
    until(lambda: server.client().boards.get(board.id).state.is_ended, PATIENCE)
    return server.client().boards.get(board.id)


def test_on_a_node_of_slurm(store: Store, home: Path, tmp_path: Path):
    """It waits in the queue, is reached through the proxy, grows, is taken up by another server, and ends."""
    run = logged_run(store, name="two", status=RunState.RUNNING)
    rules = {
        "allowed": ("local", f"slurm:folder={tmp_path / 'units'}"),
        "default": "slurm",
        "shared_folder": tmp_path / "shared",
    }
    with slurm_cluster() as cluster:
        cluster.tell("scontrol", "update", "PartitionName=low", "State=DOWN")
        with serving(store, home, **rules) as server:
            assert server.client().info().board_executors == ("slurm", "local")
            board = server.client().boards.create("run1, run2", executor=Slurm()).board
            assert board.settings["executor"] == "slurm"
            until(lambda: "waits for its turn" in str(server.client().boards.logs(board.id)), PATIENCE)
            cluster.tell("scontrol", "update", "PartitionName=low", "State=UP")
            until(lambda: has_started(server, board), PATIENCE)
            until(lambda: runs_of(server, board) == ["ws1_one_train", "ws1_two_train"], PATIENCE)
            copies = {path: path.stat().st_ino for path in (tmp_path / "shared").rglob("*tfevents*")}
            assert len(copies) == 2
            asked = cluster.tell("squeue", "--noheader", "--format=%b %k")
            assert "gpu" not in asked
            assert board.id not in asked, "others could read the address of the process"
        # A server that comes back goes on with what runs.
        (process,) = tensorboards(home)
        with serving(store, home, **rules) as server:
            with SummaryWriter(str(Path(store.uri) / run / "tb" / "eval")) as writer:
                writer.add_scalar("loss", 1.0, 1)
            until(lambda: "ws1_two_eval" in runs_of(server, board), PATIENCE)
            assert [one.pid for one in tensorboards(home)] == [process.pid]
            inodes = {path: path.stat().st_ino for path in (tmp_path / "shared").rglob("*tfevents*")}
            assert copies.items() <= inodes.items()
            server.client().boards.stop(board.id)
            assert ended(server, board).state is UnitState.STOPPED
            until(lambda: not tensorboards(home) and not list((tmp_path / "shared").rglob("*tfevents*")), PATIENCE)
            until(lambda: cluster.tell("squeue", "--noheader").strip() == "", PATIENCE)


def test_a_node_that_dies(store: Store, home: Path, tmp_path: Path):
    slurm = f"slurm:requeue=false,folder={tmp_path / 'units'}"
    rules = {"allowed": (slurm,), "default": "slurm", "shared_folder": tmp_path / "shared"}
    with slurm_cluster() as cluster, serving(store, home, **rules) as server:
        board = server.client().boards.create("run1", executor="slurm:partition=high").board
        until(lambda: has_started(server, board), PATIENCE)
        cluster.kill_node()
        found = ended(server, board)
        assert (found.state, "node" in found.reason.lower()) == (UnitState.FAILED, True), found.reason


def test_in_a_container(store: Store, home: Path, tmp_path: Path):
    """The image and mounts of a person, as far as the server allows them; copies are read-only in it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("seen")
    with docker_daemon() as address, contextlib.closing(docker.DockerClient(base_url=address)) as client:
        own = sorted({"/usr", "/etc", str(ROOT), sys.base_prefix, sys.prefix})
        rules = {
            "allowed": ("local", f"docker:address={address},pull=never"),
            "image": "nothing:1",
            "images": (IMAGE,),
            "mounts": (*own, str(tmp_path / "data")),
        }
        mounts = [{"host_path": one, "container_path": one, "read_only": True} for one in own]
        mounts.append({"host_path": str(tmp_path / "data"), "container_path": "/data", "read_only": True})
        settings = {"image": IMAGE, "bind_mounts": mounts, "tensorboard_args": ["--reload_interval=1"]}
        with serving(store, home, **rules) as server:
            with pytest.raises(Forbidden, match="'other:1'"):
                server.client().boards.create("run1", executor="docker", settings={"image": "other:1"})
            absent = server.client().boards.create("run1", executor="docker").board
            assert "nothing:1" in ended(server, absent).reason

            board = server.client().boards.create("run1", executor="docker", settings=settings).board
            until(lambda: has_started(server, board), PATIENCE)
            until(lambda: runs_of(server, board) == ["ws1_one_train"], PATIENCE)
            (container,) = client.containers.list()
            told = {mount["Destination"]: mount for mount in container.attrs["Mounts"]}
            assert told["/aboard/logs"]["RW"] is False
            assert container.exec_run(["cat", "/data/file"]).output == b"seen"
            assert container.exec_run(["touch", "/aboard/logs/x"]).exit_code != 0
            assert not container.attrs["HostConfig"]["DeviceRequests"]
            container.kill()
            found = ended(server, board)
            assert (found.state, "137" in found.reason) == (UnitState.FAILED, True), found.reason
            until(lambda: not client.containers.list(all=True, ignore_removed=True), PATIENCE)

            server.client().boards.start(board.id)
            until(lambda: has_started(server, board), PATIENCE)
            server.client().boards.delete(board.id)
            until(lambda: not client.containers.list(all=True, ignore_removed=True), PATIENCE)


def test_on_another_machine(store: Store, home: Path, tmp_path: Path):
    (tmp_path / "ssh").mkdir()
    with ssh_server(tmp_path / "ssh") as config:
        there = f"ssh:host=elsewhere,config={config},folder={tmp_path / 'units'}"
        rules = {"allowed": (there,), "default": "ssh", "shared_folder": tmp_path / "shared"}
        with serving(store, home, **rules) as server:
            board = server.client().boards.create("run1", executor="ssh").board
            until(lambda: has_started(server, board), PATIENCE)
            until(lambda: runs_of(server, board) == ["ws1_one_train"], PATIENCE)
            (process,) = tensorboards(home)
            assert "SSH_CONNECTION" not in process.environ()
            server.client().boards.kill(board.id)
            until(lambda: not tensorboards(home), PATIENCE)
            assert ended(server, board).exit_status == "killed"


def test_a_machine_that_does_not_see_the_copies(store: Store, home: Path, tmp_path: Path):
    (tmp_path / "ssh").mkdir()
    (tmp_path / "shared").mkdir()
    blind = tmp_path / "python-without-the-folder"
    hide = f"mount -t tmpfs none {tmp_path / 'shared'}"
    blind.write_text(f'#!/bin/sh\nexec unshare --mount sh -c \'{hide} && exec python3 "$@"\' python "$@"\n')
    blind.chmod(0o755)
    with ssh_server(tmp_path / "ssh") as config:
        there = f"ssh:host=elsewhere,config={config},folder={tmp_path / 'units'},python={blind}"
        rules = {"allowed": (there,), "default": "ssh", "shared_folder": tmp_path / "shared"}
        with serving(store, home, **rules) as server:
            board = server.client().boards.create("run1", executor="ssh").board
            assert "boards.shared_folder" in ended(server, board).reason
