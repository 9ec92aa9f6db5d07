# SPDX-License-Identifier: Apache-2.0
"""Boards of a server as pods of Kubernetes, looked at through the tunnel and the proxy of a real server.

Real are the client, TLS, port-forwarding, TensorBoard and the server; the API server and its node are the tests' own,
unless KUBERNETES_UNDER_TEST names a cluster.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from aboard.catalog.catalog import Catalog
from aboard.executors.kubernetes import manifests
from aboard.model.states import RunState, UnitState
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.lifecycle import BoardRules
from aboard.store import Store, open_store
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import logged_run
from support.boards_on_executors import has_started, runs_of
from support.certificates import make_certificate
from support.kubernetes_under_test import EXISTING, KubernetesUnderTest, OwnCluster, kubernetes_under_test
from support.object_servers import free_ports
from support.processes import until
from support.team_servers import BOSS, TeamServer, team_server

PATIENCE = 90.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def cluster(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesUnderTest]:
    with kubernetes_under_test(tmp_path, make_certificate(tmp_path)) as cluster:
        if not cluster.has_own_ports:
            monkeypatch.setattr(manifests, "_FIRST_PORT", free_ports(1)[0])
        cluster.add_claim("runs", tmp_path / "shared")
        yield cluster


@contextlib.contextmanager
def serving(cluster: KubernetesUnderTest, store: Store, home: Path, folder: Path) -> Iterator[TeamServer]:
    executors = BoardExecutors(
        allowed=(f"kubernetes:kubeconfig={cluster.config},claims=runs:{folder / 'shared'}",),
        default="kubernetes",
        image=cluster.image,
        shared_folder=folder / "shared",
        program="" if EXISTING else f"{sys.executable} -m tensorboard.main",
    )
    options = {"process_home": home, "boards": BoardRules(executors=executors)}
    with Catalog.open(home / "catalog.sqlite") as catalog, team_server(catalog, home, store.uri, options=options) as it:
        until(lambda: it.client().runs.count() == len(list(store.list_folders())), 60)
        yield it


def tunnels(folder: Path) -> list[psutil.Process]:
    """Those to the cluster of this test."""
    lines = [(one, " ".join(one.info["cmdline"] or [])) for one in psutil.process_iter(["cmdline"])]
    return [one for one, line in lines if "-m aboard.executors.kubernetes.forward" in line and str(folder) in line]


def _pods(cluster: KubernetesUnderTest) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.objects("pods")]


def test_from_its_start_to_its_end(cluster: KubernetesUnderTest, store: Store, home: Path, tmp_path: Path) -> None:
    run = logged_run(store, name="one", status=RunState.RUNNING)
    with serving(cluster, store, home, tmp_path) as server:
        board = server.client().boards.create("run1", executor="kubernetes").board
        until(lambda: has_started(server, board), PATIENCE)
        assert cluster.kinds() == ["deployments", "pods", "services"]
        until(lambda: runs_of(server, board) == ["ws1_one_train"], PATIENCE)
        page = server.ask_board(f"/boards/{board.id}/", who=BOSS)
        assert (page.status, b"<!doctype html>" in page.body) == (200, True)
        script = server.ask_board(f"/boards/{board.id}/index.js", who=BOSS)
        assert (script.status, len(script.body) > 1 << 20) == (200, True), "large answers come whole"
        assert server.ask_board(f"/boards/{board.id}/data/runs").status == 401
        assert len(tunnels(tmp_path)) == 1

        # A pod that is lost is replaced by the cluster, and the board goes on.
        (pod,) = _pods(cluster)
        cluster.end_pod(pod)
        until(lambda: len(_pods(cluster)) == 1 and _pods(cluster) != [pod], PATIENCE)
        until(lambda: runs_of(server, board) == ["ws1_one_train"], PATIENCE)
        assert has_started(server, board)
    # A server that comes back goes on with what runs.
    with serving(cluster, store, home, tmp_path) as server:
        with SummaryWriter(str(Path(store.uri) / run / "tb" / "eval")) as writer:
            writer.add_scalar("loss", 1.0, 1)
        until(lambda: runs_of(server, board) == ["ws1_one_eval", "ws1_one_train"], PATIENCE)
        assert cluster.kinds() == ["deployments", "pods", "services"]
        server.client().boards.stop(board.id)
        until(lambda: server.client().boards.get(board.id).state is UnitState.STOPPED, PATIENCE)
        until(lambda: not cluster.kinds(), PATIENCE)
        until(lambda: not list((tmp_path / "shared").rglob("*tfevents*")), PATIENCE)
        until(lambda: not tunnels(tmp_path), PATIENCE)
        assert server.ask_board(f"/boards/{board.id}/data/runs", who=BOSS).status == 409


def test_a_claim_without_the_copies_is_told(
    cluster: KubernetesUnderTest, store: Store, home: Path, tmp_path: Path
) -> None:
    if not isinstance(cluster, OwnCluster):
        pytest.skip("only in the tests' own cluster can a claim be another than it says")
    logged_run(store, name="one")
    cluster.api.claims = {str(tmp_path / "shared"): str(tmp_path / "another-volume")}
    with serving(cluster, store, home, tmp_path) as server:
        boards = server.client().boards
        board = boards.create("run1", executor="kubernetes").board
        until(lambda: boards.get(board.id).state is UnitState.FAILED, PATIENCE)
        told = boards.get(board.id).reason
        assert f"does not see {tmp_path / 'shared'}" in told
        assert "boards.shared_folder" in told
        until(lambda: not cluster.kinds(), PATIENCE)


def test_a_cluster_that_refuses(cluster: KubernetesUnderTest, store: Store, home: Path, tmp_path: Path) -> None:
    logged_run(store, name="one")
    cluster.forbid()
    with serving(cluster, store, home, tmp_path) as server:
        boards = server.client().boards
        board = boards.create("run1", executor="kubernetes").board
        until(lambda: boards.get(board.id).state is UnitState.FAILED, PATIENCE)
        assert re.search(r"Kubernetes does not allow this: .* is forbidden: User", boards.get(board.id).reason)
        # When it is allowed, the same board can be started.
        cluster.allow()
        boards.start(board.id)
        until(lambda: has_started(server, board), PATIENCE)
        boards.delete(board.id)
        until(lambda: not cluster.kinds(), PATIENCE)
