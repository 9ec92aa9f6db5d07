# SPDX-License-Identifier: Apache-2.0
"""`aboard board start --dry-run`: what an executor would be given for a board, and that nothing of it is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from aboard.catalog.catalog import Catalog
from aboard.errors import Forbidden, InvalidValue, UnknownName
from aboard.executors import Kubernetes
from aboard.model.boards import BoardKind
from aboard.model.people import Role
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.lifecycle import BoardRules
from aboard.store import open_store
from support.board_pages import logged_run
from support.commands import aboard
from support.kubernetes_api import KubernetesApi, kubernetes_api
from support.processes import Ended, until
from support.runs import well
from support.team_servers import BOSS, TeamServer, team_server

SECRET = "a-secret-of-the-server"
MOUNTS = '[{"host_path": "/etc", "container_path": "/e"}]'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dry")


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[KubernetesApi]:
    with kubernetes_api(place) as (api, _):
        yield api


@pytest.fixture(scope="module")
def server(place: Path, cluster: KubernetesApi) -> Iterator[TeamServer]:
    """run1 in the experiment digits of ws1, run2 in ws2; ann sees ws1 alone."""
    store = open_store(str(place / "store"), create=True)
    logged_run(store, name="one", experiment="digits")
    logged_run(store, name="two", workspace="ws2")
    shared, home = place / "shared", place / "home"
    shared.mkdir()
    home.mkdir()
    executors = BoardExecutors(
        allowed=(
            "local",
            f"kubernetes:kubeconfig={place / 'kubeconfig'},claims=runs:{shared},service_account=viewer",
            f"slurm:setup=export API_TOKEN={SECRET}",
        ),
        images=("tb/*",),
        shared_folder=shared,
        program=f"env WANDB_API_KEY={SECRET} tensorboard",
    )
    options = {"process_home": home, "boards": BoardRules(executors=executors)}
    with (
        Catalog.open(home / "catalog.sqlite") as catalog,
        team_server(catalog, home, store.uri, options=options) as running,
    ):
        until(lambda: running.client().runs.count() == 2)
        running.person("ann", ws1=Role.VIEWER)
        yield running


@pytest.fixture(autouse=True)
def asking(server: TeamServer, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_SERVER", server.url)
    monkeypatch.setenv("ABOARD_TOKEN", server.tokens["ann"])
    monkeypatch.setenv("ABOARD_HOME", str(place / "person"))


@pytest.fixture(autouse=True)
def nothing_is_made(server: TeamServer, cluster: KubernetesApi, place: Path) -> Iterator[None]:
    yield
    assert not server.client().boards.list(everybody=True).items
    assert not cluster.objects
    assert not list((place / "shared").iterdir())
    assert not [path for path in (place / "home" / "process-boards").rglob("*") if path.is_file()]


def dry_run(*arguments: object) -> Ended:
    return aboard("board", "start", *arguments, "--dry-run")


def documents(*arguments: object) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(well(dry_run(*arguments)).out))


def test_the_manifests_of_kubernetes(place: Path) -> None:
    import kubernetes_validate

    config = ["--config", "image=tb/own:1", "--config", 'tensorboard_args=["--reload_interval=9"]']
    service, deployment = documents("run1", "--executor", "kubernetes", *config)
    for manifest in (deployment, service):
        kubernetes_validate.validate(manifest, "1.31", strict=True)
        assert manifest["metadata"]["namespace"] == "lab"
    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    assert deployment["metadata"]["name"] == service["metadata"]["name"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "viewer"
    (container,) = pod["containers"]
    assert container["image"] == "tb/own:1"
    assert "--reload_interval=9" in container["command"]
    assert any(word.startswith(f"--logdir={place / 'shared'}/") for word in container["command"])
    (mount,) = container["volumeMounts"]
    shared = f"{place / 'shared'}/"
    assert (mount["name"], mount["readOnly"], mount["mountPath"]) == ("claim-runs", True, shared + mount["subPath"])
    assert f"--logdir={mount['mountPath']}/logs" in container["command"]


def test_a_longest_time_makes_it_a_job() -> None:
    import kubernetes_validate

    _, job = documents("run1", "--executor", "kubernetes", "--max-runtime", "1h")
    kubernetes_validate.validate(job, "1.31", strict=True)
    assert (job["kind"], job["spec"]["activeDeadlineSeconds"] > 3600) == ("Job", True)


def test_others_print_their_unit(place: Path) -> None:
    (document,) = documents("run1", "--process")
    assert (document["executor"], document["unit"]["ports"][0]["name"]) == ("local", "http")
    assert any(word.startswith(f"--logdir={place / 'home'}/") for word in document["unit"]["command"])
    as_json = json.loads(well(dry_run("run1", "--executor", "local", "--json")).out)
    assert as_json["next"] is None
    assert [one["executor"] for one in as_json["items"]] == ["local"]


def test_what_the_server_keeps_to_itself_is_not_printed() -> None:
    for executor in ("slurm:partition=cpu", "kubernetes"):
        ended = well(dry_run("run1", "--executor", executor))
        assert SECRET not in ended.out + ended.err
        assert "WANDB_API_KEY=********" in ended.out
        assert "No board was made" in ended.err
    (document,) = documents("run1", "--executor", "slurm:partition=cpu")
    assert document["options"] == {"partition": "cpu", "setup": "********"}


def test_a_config_file_may_say_where(tmp_path: Path) -> None:
    (tmp_path / "board.yaml").write_text("sources: [exp1]\nexecutor: kubernetes\n", encoding="utf-8")
    kinds = [one["kind"] for one in documents("--config-file", tmp_path / "board.yaml")]
    assert kinds == ["Service", "Deployment"]


@pytest.mark.parametrize(
    ("arguments", "told", "next_step"),
    [
        (["run1"], "--dry-run shows what an executor is given", "--executor NAME"),
        (["run9", "--process"], "run9", ""),
        (["run2", "--process"], "run2", ""),
        (["ws1/absent*", "--process"], "absent", ""),
        (["run1", "--executor", "docker"], "boards may not run on 'docker'", "local, kubernetes, slurm"),
        (["run1", "--executor", "slurm:setup=true"], "option 'setup' of slurm", "partition"),
        (["run1", "--executor", "kubernetes", "--config", "image=other:1"], "image 'other:1'", "tb/*"),
        (["run1", "--executor", "kubernetes", "--config", f"bind_mounts={MOUNTS}"], "mounts no folders", "claims"),
        (["run1", "--process", "--template", "{nonsense}"], "nonsense", ""),
        (["run1", "--process", "--config", "tensorboard_args=--logdir=/"], "--logdir=/", "--samples_per_plugin"),
    ],
)
def test_what_cannot_be_made_is_refused_as_when_it_is_made(arguments: list[str], told: str, next_step: str) -> None:
    refused = dry_run(*arguments)
    assert (refused.code, refused.out) == (1, ""), refused
    assert told in refused.err
    assert next_step in refused.err
    assert "Traceback" not in refused.err


def test_from_python(server: TeamServer) -> None:
    preview = server.client("ann").boards.preview("exp1", executor=Kubernetes())
    assert [one["kind"] for one in preview.documents] == ["Service", "Deployment"]
    with pytest.raises(InvalidValue, match="given to no executor") as refused:
        server.client("ann").boards.preview("run1")
    assert "`executor`" in refused.value.hint
    with pytest.raises(UnknownName):
        server.client("ann").boards.preview("run2", kind=BoardKind.PROCESS)
    with pytest.raises(Forbidden, match="'docker'"):
        server.client().boards.preview("run1", executor="docker")


def test_no_workspace_is_made_either(server: TeamServer, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    preview = server.client(BOSS).boards.preview(str(logs), workspace="elsewhere", kind=BoardKind.PROCESS)
    assert len(preview.documents) == 1
    assert "elsewhere" not in {one.name for one in server.catalog.workspaces.list()}
