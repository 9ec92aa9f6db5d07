# SPDX-License-Identifier: Apache-2.0
"""Jobs and boards on Kubernetes, from the command to the run in the store.

Real are the client, the S3 server, and the processes in pods; the API server and the controllers are the tests' own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

import aboard
from aboard.errors import InvalidValue
from aboard.executors import Kubernetes
from aboard.model.unit_states import UnitState
from support.commands import aboard as command
from support.kubernetes_api import KubernetesApi
from support.kubernetes_node import kubernetes_cluster
from support.object_servers import S3Server, free_ports
from support.processes import until

PATIENCE = 100.0
EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[KubernetesApi]:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name in ("ABOARD_SERVER", "ABOARD_TOKEN", "ABOARD_STORE", "ABOARD_CONFIG", "ABOARD_JOBS_EXECUTOR"):
        monkeypatch.delenv(name, raising=False)
    with kubernetes_cluster(tmp_path) as (api, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        yield api


@pytest.fixture
def store(
    api: KubernetesApi,  # which has taken all settings away
    s3_server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> str:
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    uri = f"s3://contract/{request.node.name}"
    monkeypatch.setenv("ABOARD_STORE", uri)
    return uri


def _losses(store: str) -> dict[str, int]:
    """How many points of the loss each run of a store has."""
    with aboard.open(store) as opened:
        runs = {name: run.scalars for name, run in opened.runs.items()}
        return {name: len(scalars["train/loss"].steps) for name, scalars in runs.items() if "train/loss" in scalars}


def test_a_job_brings_its_source_and_is_a_run(store: str) -> None:
    job = aboard.submit(
        "python train.py --lr {hparams.lr} --steps 7",
        source_dir=EXAMPLES,
        executor="kubernetes",
        image="train:1",
        hparams={"lr": 0.2},
        environment={"HF_TOKEN": "secret-value"},
    )
    status = job.wait(PATIENCE)
    assert status.has_succeeded, (status, b"".join(job.logs()))
    assert b"after 7 steps" in b"".join(job.logs())
    assert list(_losses(store).values()) == [7]
    job.forget()


@pytest.mark.usefixtures("store")
def test_a_sweep_is_one_job_of_kubernetes(api: KubernetesApi) -> None:
    sweep = aboard.sweep(
        "python train.py --lr {hparams.lr} --steps 3",
        {"lr": [0.1, 0.2, 0.4]},
        source_dir=EXAMPLES,
        executor="kubernetes",
        image="train:1",
        at_once=2,
    )
    assert [kind for kind, _ in api.objects if kind != "pods"] == ["secrets", "jobs"]
    states = sweep.wait(PATIENCE)
    assert states == {UnitState.STOPPED: 3}, [(job.info, b"".join(job.logs())[-400:]) for job in sweep.jobs]
    assert all(b"after 3 steps" in b"".join(job.logs()) for job in sweep.jobs)


def test_a_dry_run_prints_what_would_be_made_and_makes_nothing(
    api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABOARD_STORE", "gs://bucket/runs")
    options = ["--executor", "kubernetes:namespace=lab,labels=team:a,claims=data:/data", "--image", "train:1"]
    account = ["--k8s-service-account", "trainer", "--env", "HF_TOKEN=secret-value"]
    for further, kinds in (([], ["Secret", "Job"]), (["--grid", "lr=1,2", "--at-once", "1"], ["Secret", "Job"])):
        done = command("submit", *options, *account, *further, "--dry-run", "--", "python", "train.py")
        assert done.code == 0, done.err
        documents = list(yaml.safe_load_all(done.out))
        assert [each["kind"] for each in documents] == kinds
        for document in documents:
            kubernetes_validate.validate(document, "1.31", strict=True)
        assert documents[1]["spec"]["template"]["spec"]["serviceAccountName"] == "trainer"
        assert "secret-value" not in done.out
        assert "Nothing was submitted" in done.err
    assert documents[1]["spec"]["completions"] == 2
    assert not api.objects
    assert aboard.Job.list() == []


def test_stores_that_pods_cannot_see_are_refused(
    api: KubernetesApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seen in (str(tmp_path), f"file://{tmp_path}"):
        monkeypatch.setenv("ABOARD_STORE", seen)
        with pytest.raises(InvalidValue, match="cannot see") as refused:
            aboard.submit("true", executor="kubernetes", image="train:1")
        assert "gs://" in refused.value.hint
    assert not api.objects


def test_a_board_in_a_pod_is_reached_from_here(api: KubernetesApi, tmp_path: Path) -> None:
    with aboard.SummaryWriter(str(tmp_path / "logs" / "first")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    board = aboard.add_tensorboard(
        "nobody",
        str(tmp_path / "logs"),
        free_ports(1)[0],
        timeout_secs=600,
        executor=Kubernetes(claims={"logs": str(tmp_path)}, service_account="viewer"),
    )
    (job,) = [made for (kind, _), made in api.objects.items() if kind == "jobs"]
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "viewer"
    assert board.port_forward_line.startswith("kubectl port-forward --namespace lab service/aboard-")

    def runs() -> list[str] | None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{board.app_uri}data/runs") as answer:
            return json.load(answer)
        return None

    until(lambda: board.app_uri, PATIENCE)
    until(lambda: runs() == ["first"], PATIENCE)
    board.stop()
    assert board.wait(PATIENCE).state is UnitState.STOPPED


def test_the_example_of_a_launch_script(api: KubernetesApi, store: str) -> None:
    flags = ["--path", EXAMPLES, "--logs", store + "/logs", "--tensorboard_port", free_ports(1)[0]]
    account = ["--xm_k8s_service_account_name", "trainer"]
    words = [sys.executable, EXAMPLES / "xmanager_kubernetes.py", *flags, *account]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("TensorBoard: kubectl port-forward --namespace lab service/aboard-"), done.stdout
    jobs = aboard.Job.list()
    assert len(jobs) == 2
    for job in jobs:
        status = job.wait(PATIENCE)
        assert status.has_succeeded, (status, b"".join(job.logs()))
    with api.lock:
        made = [each for (kind, _), each in api.objects.items() if kind == "jobs"]
    assert {each["spec"]["template"]["spec"]["serviceAccountName"] for each in made} == {"trainer"}

    def board_has_ended() -> bool:
        with api.lock:
            boards = [each for each in made if each["metadata"]["labels"]["app.kubernetes.io/name"] == "tensorboard"]
            return len(boards) == 1 and boards[0]["spec"].get("suspend", False)

    until(board_has_ended, PATIENCE)
