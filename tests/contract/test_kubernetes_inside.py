# SPDX-License-Identifier: Apache-2.0
"""Kubernetes as a pod sees it: service account, certificate and namespace from files, by the client's own loader.

The API server is the tests' own, with TLS; it lets in who shows the token that is good now.
"""

from __future__ import annotations

import gc
import http.client
import threading
import time
from collections.abc import Generator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from aboard.errors import ExecutorUnavailable
from aboard.executors import Kubernetes
from aboard.executors.kubernetes.cluster import ClusterAddress, Namespace
from aboard.executors.kubernetes.forward import forwarded_unit
from aboard.model.states import UnitState
from aboard.model.units import Port, UnitHandle, UnitSpec
from support.certificates import make_certificate
from support.kubernetes_api import KubernetesApi
from support.kubernetes_node import kubernetes_cluster
from support.object_servers import free_ports
from support.processes import until

PATIENCE = 60.0


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """What Kubernetes mounts into every pod that may have it."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    certificate = make_certificate(tmp_path)
    (folder / "ca.crt").write_bytes(certificate.read_bytes())
    (folder / "token").write_text("first-token")
    (folder / "namespace").write_text("lab")
    return folder


@pytest.fixture
def api(account: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[KubernetesApi]:
    from kubernetes.config import incluster_config

    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with kubernetes_cluster(tmp_path, tmp_path / "site.pem") as (api, _):
        api.token = "first-token"
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(account / "token"))
        monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(account / "ca.crt"))
        yield api


@pytest.fixture
def no_collecting() -> Generator[None]:
    """Have nothing closed because somebody happened to tidy up."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _spec(**parts: Any) -> UnitSpec:
    given = {"name": "train", "image": "python:3", "command": ("sh", "-c", "echo said; exec sleep 60"), "grace": 1.0}
    return UnitSpec(**{**given, **parts})


def _serving(executor: Kubernetes) -> tuple[UnitHandle, int]:
    (port,) = free_ports(1)
    command = ("python3", "-m", "http.server", "--bind", "127.0.0.1", "$(ABOARD_PORT_HTTP)")
    handle = executor.submit(_spec(serves=True, command=command, ports=(Port(number=port),)))
    until(lambda: executor.endpoint(handle) is not None, PATIENCE)
    return handle, port


def _rotated(api: KubernetesApi, account: Path, token: str) -> None:
    """As the kubelet does it: another file takes the place of the old one."""
    (account / "new").write_text(token)
    (account / "new").replace(account / "token")
    api.token = token


def test_the_life_of_a_unit(api: KubernetesApi) -> None:
    executor = Kubernetes()
    handle = executor.submit(_spec())
    assert handle.place["namespace"] == "lab"
    until(lambda: b"".join(executor.logs(handle)) == b"said\n", PATIENCE)
    assert executor.find(handle.unit) == handle
    executor.stop(handle)
    assert executor.wait(handle, PATIENCE).state is UnitState.STOPPED
    executor.forget(handle)
    assert not api.objects


@pytest.mark.usefixtures("api")
def test_what_serves_is_reached_by_the_name_of_its_service() -> None:
    executor = Kubernetes()
    handle, port = _serving(executor)
    endpoint = executor.endpoint(handle)
    assert endpoint is not None
    assert endpoint.address == f"aboard-{handle.unit.lower()}.lab.svc:{port}"


@pytest.mark.usefixtures("api", "no_collecting")
def test_ports_are_forwarded_under_tls_and_no_connection_stays_open() -> None:
    executor = Kubernetes()
    handle, port = _serving(executor)
    forwarded, this = forwarded_unit(handle), psutil.Process()
    before = this.num_fds()
    for _ in range(6):
        stream, close = forwarded.connect(port)
        try:
            connection = http.client.HTTPConnection("pod", timeout=PATIENCE)
            connection.sock = stream.socket(port)
            connection.sock.setblocking(True)
            connection.request("GET", "/")
            answer = connection.getresponse()
            assert (answer.status, answer.read() != b"") == (200, True)
        finally:
            close()
    until(lambda: this.num_fds() <= before + 2, PATIENCE)  # those of the server end by and by


@pytest.mark.usefixtures("api")
def test_a_connection_is_closed_only_when_nobody_reads_from_it_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be that of another connection by then, as one that shakes hands."""
    executor = Kubernetes()
    handle, port = _serving(executor)
    stream, close = forwarded_unit(handle).connect(port)
    socket, receive = stream.websocket.sock, stream.websocket.recv_frame
    read_from: list[int] = []

    def receive_slowly() -> object:
        time.sleep(0.1)
        read_from.append(socket.fileno())
        return receive()

    monkeypatch.setattr(stream.websocket, "recv_frame", receive_slowly)
    close()
    assert socket.fileno() == -1
    until(lambda: not any("port forward" in thread.name for thread in threading.enumerate()), PATIENCE)
    assert read_from
    assert -1 not in read_from


def test_a_new_token_is_taken_up(api: KubernetesApi, account: Path) -> None:
    executor = Kubernetes()
    handle = executor.submit(_spec())
    _rotated(api, account, "second-token")
    assert executor.status(handle).state in (UnitState.PENDING, UnitState.STARTING, UnitState.RUNNING)


def test_a_new_token_is_taken_up_by_a_connection_that_lasts(
    api: KubernetesApi, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of who follows the output of a unit for days; the client looks at the file every minute."""
    with Namespace(ClusterAddress(), "lab") as opened:
        assert opened.get("Job", "absent") is None
        _rotated(api, account, "second-token")
        _pass_time(monkeypatch, timedelta(minutes=2))
        assert opened.get("Job", "absent") is None


def test_a_token_that_is_not_good_any_more_is_told(api: KubernetesApi) -> None:
    api.token = "another-token"
    with pytest.raises(ExecutorUnavailable, match="does not know who you are"):
        Kubernetes().submit(_spec())


def test_a_token_that_is_taken_away_is_told(api: KubernetesApi, account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Kubernetes()
    handle = executor.submit(_spec())
    until(lambda: b"".join(executor.logs(handle)) == b"said\n", PATIENCE)
    following = executor.logs(handle, follow=True)
    assert next(following) == b"said\n"
    (account / "token").write_text("")
    _pass_time(monkeypatch, timedelta(minutes=2))
    with api.lock:
        pods = [name for kind, name in api.objects if kind == "pods"]
    for name in pods:
        api.end_pod(name, 0)  # the output ends, so who follows it asks how the unit is
    with pytest.raises(ExecutorUnavailable, match="Token file exists but empty") as refused:
        list(following)
    assert "service account" in refused.value.hint


def test_a_server_that_somebody_else_vouches_for_is_not_believed(
    api: KubernetesApi, account: Path, tmp_path: Path
) -> None:
    (account / "ca.crt").write_bytes(make_certificate(tmp_path, "other").read_bytes())
    with pytest.raises(ExecutorUnavailable, match="certificate verify failed"):
        Kubernetes().submit(_spec())
    assert not api.objects


@pytest.mark.usefixtures("api")
def test_a_pod_without_a_token_is_told_what_to_do(account: Path) -> None:
    (account / "token").unlink()
    with pytest.raises(ExecutorUnavailable, match="no Kubernetes cluster is configured") as refused:
        Kubernetes().submit(_spec())
    assert "automountServiceAccountToken" in refused.value.hint
    assert "kubeconfig=" in refused.value.hint


@pytest.mark.usefixtures("api")
def test_a_file_that_is_named_goes_before(account: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may look after another cluster than its own, whose Services it cannot reach by name."""
    (account / "token").unlink()
    (tmp_path / "elsewhere").mkdir()
    with kubernetes_cluster(tmp_path / "elsewhere") as (other, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        executor = Kubernetes()
        handle, _ = _serving(executor)
        assert other.objects
        endpoint = executor.endpoint(handle)
        assert endpoint is not None
        assert endpoint.host == "127.0.0.1"
        executor.stop(handle)
        executor.wait(handle, PATIENCE)
        executor.forget(handle)


def _pass_time(monkeypatch: pytest.MonkeyPatch, span: timedelta) -> None:
    from kubernetes.config import incluster_config

    later = SimpleNamespace(now=lambda: datetime.now() + span)
    monkeypatch.setattr(incluster_config, "datetime", SimpleNamespace(datetime=later, timedelta=timedelta))
