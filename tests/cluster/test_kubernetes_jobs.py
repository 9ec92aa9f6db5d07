# SPDX-License-Identifier: Apache-2.0
"""Jobs and boards on Kubernetes, from the command to the run in the store.

Real are the client, the S3 server, and the processes in pods; the API server and the controllers are the tests' own,
unless KUBERNETES_UNDER_TEST names a cluster.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

import aboard
from aboard.errors import ExecutorNotConfigured, InvalidValue
from aboard.executors import Kubernetes
from aboard.model.states import RunState, UnitState
from aboard.model.units import EndReason
from aboard.store import open_store
from support.commands import aboard as command
from support.job_home import job_home
from support.kept_runs import kept_run
from support.kubernetes_under_test import KubernetesUnderTest, kubernetes_under_test
from support.object_servers import S3Server, free_ports
from support.processes import until
from support.relays import relay

PATIENCE = 100.0
pytestmark = pytest.mark.timeout(300)
EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[KubernetesUnderTest]:
    job_home(tmp_path, monkeypatch)
    with kubernetes_under_test(tmp_path) as cluster:
        monkeypatch.setenv("KUBECONFIG", str(cluster.config))
        yield cluster


@pytest.fixture
def store(
    cluster: KubernetesUnderTest,  # which has taken all settings away
    s3_server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Generator[str]:
    with relay(cluster.address, s3_server.port) as port:
        keys = {**s3_server.environment(), "AWS_ENDPOINT_URL": f"http://{cluster.address}:{port}"}
        for name, value in keys.items():
            monkeypatch.setenv(name, value)
        cluster.add_secret("keys", keys)
        uri = f"s3://contract/{request.node.name}"
        monkeypatch.setenv("ABOARD_STORE", uri)
        yield uri


def _losses(store: str) -> dict[str, int]:
    """How many points of the loss each run of a store has."""
    with aboard.open(store) as opened:
        runs = {name: run.scalars for name, run in opened.runs.items()}
        return {name: len(scalars["train/loss"].steps) for name, scalars in runs.items() if "train/loss" in scalars}


def test_a_job_brings_its_source_and_is_a_run(cluster: KubernetesUnderTest, store: str) -> None:
    job = aboard.submit(
        "python train.py --lr {hparams.lr} --steps 7",
        source_dir=EXAMPLES,
        executor="kubernetes:environment_secrets=keys",
        image=cluster.image,
        hparams={"lr": 0.2},
        environment={"HF_TOKEN": "secret-value"},
    )
    status = job.wait(PATIENCE)
    assert status.has_succeeded, (status, b"".join(job.logs()))
    assert b"after 7 steps" in b"".join(job.logs())
    assert list(_losses(store).values()) == [7]
    (kept,) = open_store(store).list("_sources")
    assert kept.key.endswith(".tar"), "a job that has completed needs its source no more, and says so"
    job.forget()


def test_a_run_in_a_pod_knows_that_it_was_cancelled(cluster: KubernetesUnderTest, store: str) -> None:
    job = aboard.submit(
        ["sh", "-c", "echo under way; exec sleep 600"],
        executor="kubernetes:environment_secrets=keys",
        image=cluster.image,
    )
    until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
    job.cancel()
    assert job.wait(PATIENCE).state is UnitState.STOPPED
    run = kept_run(store)
    assert (run.status, run.reason) == (RunState.CANCELLED, "its job was cancelled")


def test_a_run_in_a_pod_knows_that_its_time_was_over(cluster: KubernetesUnderTest, store: str) -> None:
    """Though its pod is not the first one: the time is that of the Job, which began when it was submitted."""
    job = aboard.submit(
        ["sh", "-c", "echo attempt $ABOARD_ATTEMPT; exec sleep 600"],
        executor="kubernetes:environment_secrets=keys",
        image=cluster.image,
        timeout=50,
        restarts=1,
    )
    until(lambda: b"attempt 1" in b"".join(job.logs()), PATIENCE)
    # From outside: `aboard run` is the first process of a pod, and no process of the pod can kill it.
    (pod,) = cluster.objects("pods")
    cluster.evict_pod(pod["metadata"]["name"])
    assert job.wait(PATIENCE).reason is EndReason.TIMEOUT
    until(lambda: kept_run(store).ended is not None, PATIENCE)
    run = kept_run(store)
    assert (run.status, run.reason) == (RunState.FAILED, "its time of 50 s was over")
    assert len(run.attempts) == 2


@pytest.mark.usefixtures("store")
def test_a_sweep_is_one_job_of_kubernetes(cluster: KubernetesUnderTest) -> None:
    sweep = aboard.sweep(
        "python train.py --lr {hparams.lr} --steps 3",
        {"lr": [0.1, 0.2, 0.4]},
        source_dir=EXAMPLES,
        executor="kubernetes:environment_secrets=keys",
        image=cluster.image,
        at_once=2,
    )
    assert [kind for kind in cluster.kinds() if kind != "pods"] == ["jobs", "secrets", "secrets"]
    states = sweep.wait(PATIENCE)
    assert states == {UnitState.STOPPED: 3}, [(job.info, b"".join(job.logs())[-400:]) for job in sweep.jobs]
    assert all(b"after 3 steps" in b"".join(job.logs()) for job in sweep.jobs)


def test_a_dry_run_prints_what_would_be_made_and_makes_nothing(
    cluster: KubernetesUnderTest, monkeypatch: pytest.MonkeyPatch
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
    assert not cluster.kinds()
    assert aboard.Job.list() == []


def test_stores_that_pods_cannot_see_are_refused(
    cluster: KubernetesUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seen in (str(tmp_path), f"file://{tmp_path}"):
        monkeypatch.setenv("ABOARD_STORE", seen)
        with pytest.raises(InvalidValue, match="cannot see") as refused:
            aboard.submit("true", executor="kubernetes", image="train:1")
        assert "gs://" in refused.value.hint
    assert not cluster.kinds()


def test_a_submission_without_a_cluster_or_a_login_leaves_no_job(
    cluster: KubernetesUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABOARD_STORE", "s3://bucket/runs")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(ExecutorNotConfigured, match="no Kubernetes cluster is configured") as refused:
        aboard.submit("true", executor="kubernetes", image="train:1")
    assert "taken all the same" not in refused.value.hint
    assert aboard.Job.list() == []


def test_a_board_in_a_pod_is_reached_from_here(cluster: KubernetesUnderTest, tmp_path: Path) -> None:
    with aboard.SummaryWriter(str(tmp_path / "logs" / "first")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    cluster.add_claim("logs", tmp_path / "logs")
    cluster.add_account("viewer")
    board = aboard.add_tensorboard(
        "nobody",
        str(tmp_path / "logs"),
        free_ports(1)[0],
        timeout_secs=600,
        executor=Kubernetes(claims={"logs": str(tmp_path / "logs")}, service_account="viewer"),
        image=cluster.image,
    )
    (job,) = cluster.objects("jobs")
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "viewer"
    assert board.port_forward_line.startswith("kubectl port-forward --context ")
    assert f" --namespace {cluster.namespace} service/aboard-" in board.port_forward_line

    def runs() -> list[str] | None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{board.app_uri}data/runs") as answer:
            return json.load(answer)
        return None

    until(lambda: board.app_uri, PATIENCE)
    until(lambda: runs() == ["first"], PATIENCE)
    board.stop()
    assert board.wait(PATIENCE).state is UnitState.STOPPED


def test_the_example_of_a_launch_script(cluster: KubernetesUnderTest, store: str) -> None:
    flags = ["--path", EXAMPLES, "--logs", store + "/logs", "--tensorboard_port", free_ports(1)[0]]
    account = ["--xm_k8s_service_account_name", "trainer", "--image", cluster.image, "--keys", "keys"]
    cluster.add_account("trainer")
    words = [sys.executable, EXAMPLES / "xmanager_kubernetes.py", *flags, *account]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("TensorBoard: kubectl port-forward --context "), done.stdout
    assert f" --namespace {cluster.namespace} service/aboard-" in done.stdout
    jobs = aboard.Job.list()
    assert len(jobs) == 2
    for job in jobs:
        status = job.wait(PATIENCE)
        assert status.has_succeeded, (status, b"".join(job.logs()))
    made = cluster.objects("jobs")
    assert {each["spec"]["template"]["spec"]["serviceAccountName"] for each in made} == {"trainer"}

    def board_has_ended() -> bool:
        named = [(each["metadata"]["labels"]["app.kubernetes.io/name"], each) for each in cluster.objects("jobs")]
        boards = [each for name, each in named if name == "tensorboard"]
        return len(boards) == 1 and boards[0]["spec"].get("suspend", False)

    until(board_has_ended, PATIENCE)


@pytest.mark.usefixtures("store")
def test_the_example_of_pai(cluster: KubernetesUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_JOBS_EXECUTOR", "kubernetes:environment_secrets=keys")
    words = [sys.executable, str(EXAMPLES / "pai_estimator.py"), "--image", cluster.image]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "loss 3.34e-08 after 20 steps" in done.stdout, "the hyperparameter did not arrive"
    assert "Running http://" in done.stdout
    (made,) = cluster.objects("jobs")
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert (container["image"], "runs without" in done.stderr) == (cluster.image, False)
