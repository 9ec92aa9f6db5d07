# SPDX-License-Identifier: Apache-2.0
"""Boards of a server as pods of Kubernetes, looked at through the tunnel and the proxy of a real server.

Real are the client, TLS, port-forwarding, TensorBoard and the server; the API server and its node are the tests' own.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from aboard.catalog.catalog import Catalog
from aboard.control.board_executors import BoardExecutors
from aboard.control.boards import BoardRules
from aboard.executors import kubernetes_manifests
from aboard.model.run_states import RunState
from aboard.model.unit_states import UnitState
from aboard.store import Store, open_store
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import logged_run
from support.boards_on_executors import has_started, runs_of
from support.certificates import make_certificate
from support.kubernetes_api import KubernetesApi
from support.kubernetes_node import kubernetes_cluster
from support.object_servers import free_ports
from support.processes import until
from support.team_servers import BOSS, TeamServer, team_server

PATIENCE = 90.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def api(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesApi]:
    # A pod has all ports for itself; those of the tests share the ones of this machine.
    monkeypatch.setattr(kubernetes_manifests, "_FIRST_PORT", free_ports(1)[0])
    with kubernetes_cluster(tmp_path, make_certificate(tmp_path)) as (api, _):
        yield api


@contextlib.contextmanager
def serving(store: Store, home: Path, folder: Path) -> Iterator[TeamServer]:
    executors = BoardExecutors(
        allowed=(f"kubernetes:kubeconfig={folder / 'kubeconfig'},claims=runs:{folder / 'shared'}",),
        default="kubernetes",
        shared_folder=folder / "shared",
        program=f"{sys.executable} -m tensorboard.main",
    )
    options = {"process_home": home, "boards": BoardRules(executors=executors)}
    with Catalog.open(home / "catalog.sqlite") as catalog, team_server(catalog, home, store.uri, options=options) as it:
        until(lambda: it.client().runs.count() == len(list(store.list_folders())), 20)
        yield it


def kinds(api: KubernetesApi) -> list[str]:
    with api.lock:
        return sorted(kind for kind, _ in api.objects)


def tunnels(folder: Path) -> list[psutil.Process]:
    """Those to the cluster of this test."""
    lines = [(one, " ".join(one.info["cmdline"] or [])) for one in psutil.process_iter(["cmdline"])]
    return [one for one, line in lines if "-m aboard.executors.kubernetes_forward" in line and str(folder) in line]


def test_from_its_start_to_its_end(api: KubernetesApi, store: Store, home: Path, tmp_path: Path) -> None:
    run = logged_run(store, name="one", status=RunState.RUNNING)
    with serving(store, home, tmp_path) as server:
        board = server.client().boards.create("run1", executor="kubernetes").board
        until(lambda: has_started(server, board), PATIENCE)
        assert kinds(api) == ["deployments", "pods", "services"]
        until(lambda: runs_of(server, board) == ["ws1_one_train"], PATIENCE)
        page = server.ask_board(f"/boards/{board.id}/", who=BOSS)
        assert (page.status, b"<!doctype html>" in page.body) == (200, True)
        script = server.ask_board(f"/boards/{board.id}/index.js", who=BOSS)
        assert (script.status, len(script.body) > 1 << 20) == (200, True), "large answers come whole"
        assert server.ask_board(f"/boards/{board.id}/data/runs").status == 401
        assert len(tunnels(tmp_path)) == 1

        # A pod that is lost is replaced by the cluster, and the board goes on.
        with api.lock:
            (pod,) = [name for kind, name in api.objects if kind == "pods"]
            api.end_pod(pod, 0)
        until(lambda: kinds(api) == ["deployments", "pods", "services"] and ("pods", pod) not in api.objects, PATIENCE)
        until(lambda: runs_of(server, board) == ["ws1_one_train"], PATIENCE)
        assert has_started(server, board)
    # A server that comes back goes on with what runs.
    with serving(store, home, tmp_path) as server:
        with SummaryWriter(str(Path(store.uri) / run / "tb" / "eval")) as writer:
            writer.add_scalar("loss", 1.0, 1)
        until(lambda: runs_of(server, board) == ["ws1_one_eval", "ws1_one_train"], PATIENCE)
        assert kinds(api) == ["deployments", "pods", "services"]
        server.client().boards.stop(board.id)
        until(lambda: server.client().boards.get(board.id).state is UnitState.STOPPED, PATIENCE)
        until(lambda: not kinds(api), PATIENCE)
        until(lambda: not list((tmp_path / "shared").rglob("*tfevents*")), PATIENCE)
        until(lambda: not tunnels(tmp_path), PATIENCE)
        assert server.ask_board(f"/boards/{board.id}/data/runs", who=BOSS).status == 409


def test_a_cluster_that_refuses(api: KubernetesApi, store: Store, home: Path, tmp_path: Path) -> None:
    logged_run(store, name="one")
    api.refuse = 403, 'deployments.apps is forbidden: User "aboard" cannot create'
    with serving(store, home, tmp_path) as server:
        boards = server.client().boards
        board = boards.create("run1", executor="kubernetes").board
        until(lambda: boards.get(board.id).state is UnitState.FAILED, PATIENCE)
        assert "Kubernetes does not allow this: deployments.apps is forbidden" in boards.get(board.id).reason
        # When it is allowed, the same board can be started.
        api.refuse = None
        boards.start(board.id)
        until(lambda: has_started(server, board), PATIENCE)
        boards.delete(board.id)
        until(lambda: not kinds(api), PATIENCE)
