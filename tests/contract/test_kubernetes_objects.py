# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: the objects of a unit are made once, whole or not at all, and go together.

Real are the client and its HTTP; the API server is the tests' own (`support/kubernetes_api.py`).
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import kubernetes_validate
import pytest

from aboard.errors import ExecutorUnavailable, InvalidValue, UnitRefused, UnknownName
from aboard.executors import Kubernetes, executor_of
from aboard.executors.kubernetes.cluster import ClusterIdentity
from aboard.jobs.cancellation import mark_variables
from aboard.jobs.sources import SOURCE_VARIABLE as SOURCE
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import Port, UnitHandle
from support.kubernetes_api import KubernetesApi, kubernetes_api
from support.kubernetes_units import object_name, unit_spec


@pytest.fixture
def executor(kubernetes_server: tuple[KubernetesApi, Path]) -> Kubernetes:
    return Kubernetes(kubeconfig=str(kubernetes_server[1]))


def test_a_unit_is_created_once_and_found_again(executor: Kubernetes, api: KubernetesApi) -> None:
    spec = unit_spec(ports=(Port(),))
    handle = executor.submit(spec)
    assert executor.submit(spec) == handle
    assert set(api.objects) == {("jobs", object_name(spec.id)), ("services", object_name(spec.id))}
    # A submitter that died between the two leaves a Job without its Service.
    del api.objects["services", object_name(spec.id)]
    assert executor.find(spec.id) == handle
    assert executor.submit(spec) == handle
    assert ("services", object_name(spec.id)) in api.objects
    with pytest.raises(UnitRefused, match=spec.id):
        executor.submit(dataclasses.replace(spec, command=("other",)))
    again = UnitHandle.parse(handle.text())
    assert executor_of(again) == executor
    assert executor.find(new_uid()) is None
    serving = unit_spec(serves=True)
    assert executor.submit(serving) == executor.find(serving.id)


def test_a_unit_stays_with_its_cluster_when_the_current_context_changes(
    executor: Kubernetes, api: KubernetesApi, tmp_path: Path
) -> None:
    handle = executor.submit(unit_spec())
    (tmp_path / "other").mkdir()
    with kubernetes_api(tmp_path / "other") as (other, its_config):
        config = json.loads(Path(executor.kubeconfig).read_text())
        config["clusters"].append(
            {"name": "b", "cluster": json.loads(its_config.read_text())["clusters"][0]["cluster"]}
        )
        config["contexts"].append({"name": "b", "context": {"cluster": "b", "user": "test", "namespace": "lab"}})
        config["current-context"] = "b"
        Path(executor.kubeconfig).write_text(json.dumps(config))
        assert executor.status(handle).state is UnitState.PENDING
        executor.stop(handle)
        assert api.objects["jobs", object_name(handle.unit)]["spec"]["suspend"] is True
        assert not other.objects


def test_a_unit_is_not_looked_for_on_another_cluster(executor: Kubernetes, api: KubernetesApi, tmp_path: Path) -> None:
    handle = executor.submit(unit_spec())
    (tmp_path / "other").mkdir()
    with kubernetes_api(tmp_path / "other") as (other, its_config):
        Path(executor.kubeconfig).write_bytes(its_config.read_bytes())  # the same name of a context leads elsewhere
        for act in (executor.status, executor.stop, executor.forget, executor.endpoint, executor.port_forward_line):
            with pytest.raises(
                ExecutorUnavailable, match=f"runs on the cluster .*{api.port}.* leads to .*{other.port}"
            ):
                act(handle)
        with pytest.raises(ExecutorUnavailable, match="runs on the cluster"):
            list(executor.logs(handle))
        # One cluster may have several addresses: the certificate authority decides where both are known.
        assert ClusterIdentity(server="a", authority="x").is_same_as(ClusterIdentity(server="b", authority="x"))
        assert not ClusterIdentity(server="a", authority="x").is_same_as(ClusterIdentity(server="a", authority="y"))
        # Handles of earlier versions do not say where they belong.
        place = {name: value for name, value in handle.place.items() if name not in {"cluster", "authority", "context"}}
        with pytest.raises(UnknownName):
            executor.status(dataclasses.replace(handle, place=place))


def test_a_stopped_job_with_a_lifetime_is_not_left_suspended(executor: Kubernetes, api: KubernetesApi) -> None:
    """The cluster removes Jobs that finished, and a suspended one never does."""
    passing = dataclasses.replace(executor, ttl_seconds=5)
    handle = passing.submit(unit_spec())
    passing.stop(handle)
    body = api.objects["jobs", object_name(handle.unit)]["spec"]
    assert body["activeDeadlineSeconds"] == 1
    assert "suspend" not in body
    assert passing.status(handle).state is UnitState.STOPPED


def test_a_sweep_is_no_larger_than_its_annotations_can_be(executor: Kubernetes) -> None:
    """Each unit has its id there, and when it was stopped and forgotten a mark for each."""
    units = [unit_spec() for _ in range(2400)]
    job = executor.preview(units)[-1]
    marks = sum(len(f"aboard.dev/stopped-{n}before it began" + f"aboard.dev/forgotten-{n}true") for n in range(2400))
    written = sum(len(name) + len(value) for name, value in job["metadata"]["annotations"].items())
    assert written + marks < 256 * 1024
    with pytest.raises(InvalidValue, match="2401 runs does not fit"):
        executor.preview([*units, unit_spec()])


def test_pods_of_a_restricted_namespace(executor: Kubernetes) -> None:
    demanding = dataclasses.replace(
        executor,
        restricted=True,
        run_as_user=1000,
        tolerations=("gpu", "dedicated=ml:NoSchedule"),
        priority_class="high",
        shared_memory="8Gi",
    )
    for specs in ([unit_spec()], [unit_spec(), unit_spec()]):
        job = demanding.preview(specs)[-1]
        kubernetes_validate.validate(job, "1.31", strict=True)
        pod = job["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["securityContext"]["runAsUser"] == 1000
        container = pod["containers"][0]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert {"name": "shared-memory", "mountPath": "/dev/shm"} in container["volumeMounts"]
        assert pod["tolerations"] == [
            {"key": "gpu", "operator": "Exists"},
            {"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"},
        ]
        assert pod["priorityClassName"] == "high"
    with pytest.raises(InvalidValue, match="The toleration 'a:Sometimes' of kubernetes is not valid"):
        dataclasses.replace(executor, tolerations=("a:Sometimes",)).manifests(unit_spec())


def test_only_secret_variables_need_a_secret(executor: Kubernetes, api: KubernetesApi, tmp_path: Path) -> None:
    plain = unit_spec(environment=mark_variables(new_uid(), tmp_path, shares_files=False) | {SOURCE: "_sources/x"})
    executor.submit(plain)
    assert set(api.objects) == {("jobs", object_name(plain.id))}
    executor.submit(unit_spec(environment={"AZURE_STORAGE_CONNECTION_STRING": "AccountKey=x"}))
    assert [kind for kind, _ in api.objects].count("secrets") == 1


@pytest.mark.parametrize("kind", ["secrets", "services", "jobs", "deployments"])
def test_a_unit_that_is_refused_leaves_nothing(executor: Kubernetes, api: KubernetesApi, kind: str) -> None:
    api.refuse_kinds = {kind: (403, f'{kind} "x" is forbidden: exceeded quota: few')}
    spec = unit_spec(ports=(Port(),), environment={"API_KEY": "x"}, serves=kind != "jobs")
    with pytest.raises(UnitRefused, match="quota"):
        executor.submit(spec)
    assert not api.objects
    assert not [one for one in api.deleted_with if one.startswith(("jobs", "deployments"))], "it has run"


def test_a_unit_whose_parts_may_not_be_changed_leaves_nothing(executor: Kubernetes, api: KubernetesApi) -> None:
    api.refuse_changes = 403, 'services "x" is forbidden: User "me" cannot patch resource "services"'
    with pytest.raises(UnitRefused, match="cannot patch"):
        executor.submit(unit_spec(ports=(Port(),)))
    assert not api.objects


def test_a_refused_unit_leaves_that_of_another_alone(executor: Kubernetes, api: KubernetesApi) -> None:
    spec = unit_spec()
    executor.submit(spec)
    before = set(api.objects)
    with pytest.raises(UnitRefused, match="another unit"):
        executor.submit(dataclasses.replace(spec, ports=(Port(),), environment={"API_KEY": "x"}))
    assert set(api.objects) == before
    # Who submits the same again, and is refused a part of it, does not end what runs.
    whole = unit_spec(ports=(Port(),))
    executor.submit(whole)
    del api.objects["services", object_name(whole.id)]
    api.refuse_kinds = {"services": (403, "services is forbidden: exceeded quota: few")}
    with pytest.raises(UnitRefused, match="quota"):
        executor.submit(whole)
    assert ("jobs", object_name(whole.id)) in api.objects


def test_what_belongs_to_a_unit_goes_with_it(executor: Kubernetes, api: KubernetesApi) -> None:
    handle = executor.submit(unit_spec(ports=(Port(),), environment={"API_KEY": "x"}))
    owner = api.objects["jobs", object_name(handle.unit)]["metadata"]["uid"]
    for kind in ("services", "secrets"):
        (reference,) = api.objects[kind, object_name(handle.unit)]["metadata"]["ownerReferences"]
        assert reference["uid"] == owner
    executor.stop(handle)
    executor.forget(handle)
    assert not api.objects


def test_what_a_job_that_the_cluster_removed_has_left_goes_with_it(executor: Kubernetes, api: KubernetesApi) -> None:
    spec = unit_spec(ports=(Port(),), environment={"API_KEY": "x"})
    handle = executor.submit(spec)
    # As after `ttl_seconds`, where the submitter died before it told the cluster what belongs together.
    del api.objects["jobs", object_name(spec.id)]
    assert {kind for kind, _ in api.objects} == {"secrets", "services"}
    executor.forget(handle)
    assert not api.objects
