# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: clusters that cannot be asked are told, and nobody waits for them for ever."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from aboard.errors import ExecutorUnavailable
from aboard.executors import Kubernetes
from aboard.executors.kubernetes import cluster
from support.kubernetes_api import kubernetes_api
from support.kubernetes_units import unit_spec


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExecutorUnavailable, match="no Kubernetes cluster is configured"):
        Kubernetes(kubeconfig=str(tmp_path / "absent")).submit(unit_spec())
    with kubernetes_api(tmp_path) as (_, config):
        gone = Kubernetes(kubeconfig=str(config))
    with pytest.raises(ExecutorUnavailable, match="does not answer"):
        gone.submit(unit_spec())


def test_a_cluster_that_accepts_connections_and_says_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kubernetes_api(tmp_path) as (api, config):
        silent = Kubernetes(kubeconfig=str(config))
        handle = silent.submit(unit_spec())
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", api.port)):
        for call in (silent.status, silent.stop, lambda handle: list(silent.logs(handle)), silent.forget):
            with pytest.raises(ExecutorUnavailable, match=r"does not answer: .*timed out"):
                call(handle)
        with pytest.raises(ExecutorUnavailable, match=r"does not answer: .*timed out"):
            silent.submit(unit_spec())


@pytest.mark.parametrize("text", ["only a word", "a: [1", "- a\n- b\n"])
def test_a_kubeconfig_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(ExecutorUnavailable, match="no Kubernetes cluster is configured") as refused:
        Kubernetes(kubeconfig=str(tmp_path / "config")).submit(unit_spec())
    assert "KUBECONFIG" in refused.value.hint


def test_a_login_that_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.3)
    asking = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["5"]}
    with kubernetes_api(tmp_path) as (_, config):
        told = json.loads(config.read_text())
        told["users"][0]["user"] = {"exec": {**asking, "interactiveMode": "Never"}}
        config.write_text(json.dumps(told))
        with pytest.raises(ExecutorUnavailable, match="login that the kubeconfig names does not end"):
            Kubernetes(kubeconfig=str(config)).submit(unit_spec())
