# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: the objects of a unit are made once, whole or not at all, and go together.

Real are the client and its HTTP; the API server is the tests' own (`support/kubernetes_api.py`).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from aboard.errors import UnitRefused
from aboard.executors import Kubernetes, executor_of
from aboard.jobs.cancel_marks import mark_variables
from aboard.jobs.sent_source import VARIABLE as SOURCE
from aboard.model.uid import new_uid
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_parts import Port
from support.kubernetes_api import KubernetesApi
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
