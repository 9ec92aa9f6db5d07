# SPDX-License-Identifier: Apache-2.0
"""The controllers of Jobs and Deployments, and one node whose containers are processes of this machine.

It follows what Kubernetes documents: pods are made and ended for their owners, `$(NAME)` and `$$` are read in commands
and variables, deadlines, indexes, suspension, readiness; Jobs end with the reasons and messages of its controller.
There are no images, and no walls between pods: a claim's path must be a folder of this machine, and files of Secrets
stand below a folder that replaces their path in the command.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import os
import re
import shutil
import socket
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from aboard.executors import Local
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitSpec, UnitStatus
from support.kubernetes_api import KubernetesApi, kubernetes_api

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_INDEX = "batch.kubernetes.io/job-completion-index"
_FAILURES = "batch.kubernetes.io/job-index-failure-count"
_DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
_SAID = {
    "BackoffLimitExceeded": "Job has reached the specified backoff limit",
    "CompletionsReached": "Reached expected number of succeeded pods",
    "DeadlineExceeded": "Job was active longer than specified deadline",
    "FailedIndexes": "Job has failed indexes",
}
Object = dict[str, Any]


@contextlib.contextmanager
def kubernetes_cluster(folder: Path, certificate: Path | None = None) -> Generator[tuple[KubernetesApi, Path]]:
    """A server with a node, and a kubeconfig that leads to it."""
    with kubernetes_api(folder, certificate, has_node=True) as (api, config):
        node = _Node(api, folder)
        thread = threading.Thread(target=node.work, daemon=True)
        thread.start()
        try:
            yield api, config
        finally:
            node.over.set()
            thread.join()
            node.end()


class _Node:
    def __init__(self, api: KubernetesApi, folder: Path) -> None:
        self.over = threading.Event()
        self._api, self._folder = api, folder
        self._local = Local(folder=str(folder / "containers"))
        self._containers: dict[str, UnitHandle] = {}
        self._printed: dict[str, UnitHandle] = {}
        self._ending: set[str] = set()
        self._ready: set[str] = set()
        self._disrupted: set[str] = set()
        self._gone: list[str] = []
        self._ends: dict[str, dict[int, str]] = {}
        self._failures: list[BaseException] = []
        api.end_pod, api.evict_pod, api.follow = self._end_pod, self._evict_pod, self._follow

    def work(self) -> None:
        while not self.over.wait(0.05):
            try:
                self.step()
            except BaseException as error:
                self._failures.append(error)
                raise

    def end(self) -> None:
        for handle in self._containers.values():
            self._local.stop(handle, grace=0)
            self._local.wait(handle, 20)
        assert not self._failures, self._failures

    def step(self) -> None:
        with self._api.lock:
            for (kind, name), made in list(self._api.objects.items()):
                if kind == "pods":
                    self._look(name, made)
            for (kind, _), made in list(self._api.objects.items()):
                if kind == "jobs":
                    self._job(made)
                elif kind == "deployments":
                    self._deployment(made)
            # A finalizer keeps what was deleted until its owner has counted it.
            while self._gone:
                self._api.drop_pod(self._gone.pop())

    def _job(self, job: Object) -> None:
        status, spec = job["status"], job["spec"]
        if status.get("conditions"):
            return
        pods = self._pods(job)
        if spec.get("suspend"):
            status.pop("startTime", None)
            for pod in pods:
                self._end_pod(pod["metadata"]["name"], None)
            return
        status.setdefault("startTime", self._api.now())
        deadline = spec.get("activeDeadlineSeconds")
        if deadline and _seconds_between(status["startTime"], self._api.now()) > deadline:
            for pod in pods:
                self._end_pod(pod["metadata"]["name"], None)
            self._finish(job, "Failed", "DeadlineExceeded")
        elif spec.get("completionMode") == "Indexed":
            self._indexed(job, pods)
        elif not status.get("made"):
            status["made"] = 1
            self._start(job, {})
        elif pods and pods[-1]["status"]["phase"] == "Succeeded":
            self._finish(job, "Complete", "CompletionsReached")
        elif not pods or pods[-1]["status"]["phase"] == "Failed":  # it failed, or was taken away
            action, message = _policy(spec, pods[-1] if pods else None)
            if action == "FailJob":
                self._finish(job, "Failed", "PodFailurePolicy", message)
            elif status["made"] <= spec["backoffLimit"]:
                status["made"] += 1
                self._start(job, {})
            else:
                self._finish(job, "Failed", "BackoffLimitExceeded")

    def _indexed(self, job: Object, pods: list[Object]) -> None:
        status, spec = job["status"], job["spec"]
        made: dict[int, int] = status.setdefault("made", {})
        by_index = {int(pod["metadata"]["labels"][_INDEX]): pod for pod in pods}
        ends = self._ends.setdefault(job["metadata"]["uid"], {})
        for index in [each for each in made if each not in ends]:
            phase = by_index[index]["status"]["phase"] if index in by_index else "Failed"
            if phase == "Succeeded":
                ends[index] = phase
            elif phase == "Failed":
                action, _ = _policy(spec, by_index.get(index))
                if made[index] <= spec["backoffLimitPerIndex"] and action != "FailIndex":
                    made[index] += 1
                    self._start(job, {_INDEX: str(index)}, made[index] - 1)
                else:
                    ends[index] = phase
        done = sorted(index for index, phase in ends.items() if phase == "Succeeded")
        failed = sorted(index for index, phase in ends.items() if phase == "Failed")
        status["completedIndexes"], status["failedIndexes"] = _ranges(done), _ranges(failed)
        if len(done) + len(failed) == spec["completions"]:
            self._finish(job, "Failed" if failed else "Complete", "FailedIndexes" if failed else "CompletionsReached")
        live = len(made) - len(done) - len(failed)
        for index in range(spec["completions"]):
            if index not in made and live < spec["parallelism"]:
                made[index] = 1
                live += 1
                self._start(job, {_INDEX: str(index)})

    def _deployment(self, made: Object) -> None:
        pods = self._pods(made)
        if made["spec"]["replicas"] == 0:
            for pod in pods:
                self._end_pod(pod["metadata"]["name"], None)
        elif not pods:
            self._start(made, {})

    def _pods(self, owner: Object) -> list[Object]:
        uid = owner["metadata"]["uid"]
        pods = [each for (kind, _), each in self._api.objects.items() if kind == "pods"]
        return [pod for pod in pods if pod["metadata"]["ownerReferences"][0]["uid"] == uid]

    def _finish(self, job: Object, kind: str, reason: str, message: str = "") -> None:
        told = {"type": kind, "status": "True", "reason": reason, "message": message or _SAID[reason]}
        job["status"]["conditions"] = [{**told, "lastTransitionTime": self._api.now()}]

    def _start(self, owner: Object, labels: dict[str, str], failures: int = 0) -> None:
        template = owner["spec"]["template"]
        name = f"{owner['metadata']['name']}-{new_uid()[-5:].lower()}"
        job = {"batch.kubernetes.io/job-name": owner["metadata"]["name"]}
        pod: Object = {
            "metadata": {
                "name": name,
                "labels": {**template["metadata"]["labels"], **job, **labels},
                "annotations": {_FAILURES: str(failures)} if _INDEX in labels else {},
                "creationTimestamp": self._api.now(),
                "ownerReferences": [{"kind": owner["kind"], "name": "-", "apiVersion": "-", **_uid(owner)}],
            },
            "spec": {**template["spec"], "nodeName": "node-1"},
            "status": {"phase": "Pending"},
        }
        self._api.objects["pods", name] = pod
        handle = self._local.submit(self._unit(pod, labels))
        self._containers[name] = self._printed[name] = handle

    def _unit(self, pod: Object, labels: dict[str, str]) -> UnitSpec:
        (container,) = pod["spec"]["containers"]
        environment: dict[str, str] = {}
        for source in container.get("envFrom", []):
            environment |= self._secret(source["secretRef"]["name"])
        for variable in container.get("env", []):
            if "valueFrom" in variable:
                reference = variable["valueFrom"]["secretKeyRef"]
                environment[variable["name"]] = self._secret(reference["name"])[reference["key"]]
            else:
                environment[variable["name"]] = _filled(variable["value"], environment)
        if _INDEX in labels:
            environment["JOB_COMPLETION_INDEX"] = labels[_INDEX]
        self._make_parts(container)
        words = [_filled(word, environment) for word in container["command"]]
        for path, folder in {**self._secret_folders(pod, container), **self._api.claims}.items():
            words = [word.replace(path, folder) for word in words]
        # What the tests' own process knows of stores no pod knows; a command that is not there must still be missed.
        foreign = [name for name in os.environ if name.startswith("AWS_") and name not in environment]
        if foreign and shutil.which(words[0]):
            words = ["env", *(f"--unset={name}" for name in foreign), *words]
        own = environment.get("ABOARD_UNIT_ID")
        used = {handle.unit for handle in self._printed.values()}
        return UnitSpec(
            id=own if own and own not in used else new_uid(),  # the process is told this one
            name="container",
            command=tuple(words),
            environment=environment,
            source=str(self._folder),
            timeout=pod["spec"].get("activeDeadlineSeconds"),
            grace=pod["spec"]["terminationGracePeriodSeconds"],
        )

    def _secret(self, name: str) -> dict[str, str]:
        data = self._api.objects["secrets", name]["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def _secret_folders(self, pod: Object, container: Object) -> dict[str, str]:
        """Where the files of Secrets are, by the path at which the container should see them."""
        names = {
            each["name"]: each["secret"]["secretName"] for each in pod["spec"].get("volumes", []) if "secret" in each
        }
        found: dict[str, str] = {}
        for mount in container.get("volumeMounts", []):
            if mount["name"] in names:
                folder = self._folder / "secrets" / pod["metadata"]["name"] / mount["name"]
                folder.mkdir(parents=True)
                for key, value in self._secret(names[mount["name"]]).items():
                    (folder / key).write_text(value)
                found[mount["mountPath"]] = str(folder)
        return found

    def _make_parts(self, container: Object) -> None:
        """As a node does it: a part of a claim that is not there is made."""
        for mount in [each for each in container.get("volumeMounts", []) if "subPath" in each]:
            seen = mount["mountPath"]
            for path, folder in self._api.claims.items():
                seen = seen.replace(path, folder)
            Path(seen).mkdir(parents=True, exist_ok=True)

    def _look(self, name: str, pod: Object) -> None:
        handle = self._containers.get(name)
        if handle is None:
            return
        status = self._local.status(handle)
        if name in self._ending:
            if status.state.is_ended:
                del self._containers[name]
                self._ending.remove(name)
                pod["status"] = _pod_status(status, is_ready=False)
                pod["status"]["conditions"] = [_DISRUPTED] if name in self._disrupted else []
                self._gone.append(name)
            return
        if status.state is UnitState.RUNNING and name not in self._ready and _answers(pod):
            self._ready.add(name)
        pod["status"] = _pod_status(status, is_ready=name in self._ready)
        if status.state.is_ended and pod["spec"]["restartPolicy"] == "Always":
            (container,) = pod["status"]["containerStatuses"]
            pod["status"]["phase"] = "Running"
            container |= {"lastState": container["state"], "state": {"waiting": {"reason": "CrashLoopBackOff"}}}

    def _end_pod(self, name: str, grace: int | None) -> None:
        with self._api.lock:
            if name not in self._containers:
                self._api.drop_pod(name)
                return
            if name in self._ending and grace is None:
                return
            self._ending.add(name)
            self._api.objects["pods", name]["metadata"]["deletionTimestamp"] = self._api.now()
            self._local.stop(self._containers[name], grace=grace)

    def _evict_pod(self, name: str) -> None:
        with self._api.lock:
            self._disrupted.add(name)
            self._end_pod(name, None)

    def _follow(self, name: str, follow: bool) -> Iterator[bytes]:
        return self._local.logs(self._printed[name], follow=follow)


def _pod_status(status: UnitStatus, *, is_ready: bool) -> Object:
    started = {"startedAt": status.started.isoformat()} if status.started else {}
    if not status.state.is_ended:
        is_running = status.state is UnitState.RUNNING
        state = {"running": started} if is_running else {"waiting": {"reason": "ContainerCreating"}}
        ready = [{"type": "Ready", "status": "True"}] if is_ready else []
        return {"phase": "Running" if is_running else "Pending", "conditions": ready, **_container(state)}
    reasons = {
        EndReason.NOT_STARTED: "StartError",
        EndReason.OUT_OF_MEMORY: "OOMKilled",
        EndReason.COMPLETED: "Completed",
    }
    reason = reasons.get(status.reason or EndReason.LOST, "Error")
    code = status.exit_code if status.exit_code is not None else 128
    ended = {"finishedAt": status.ended.isoformat()} if status.ended else {}
    state = {"terminated": {"exitCode": code, "reason": reason, "message": status.message, **started, **ended}}
    why = {"reason": "DeadlineExceeded"} if status.reason is EndReason.TIMEOUT else {}
    return {"phase": "Succeeded" if status.has_succeeded else "Failed", **why, **_container(state)}


def _container(state: Object) -> Object:
    return {
        "containerStatuses": [
            {"name": "unit", "image": "x", "imageID": "x", "ready": True, "restartCount": 0, "state": state}
        ]
    }


def _policy(spec: Object, pod: Object | None) -> tuple[str, str]:
    """What the first rule that fits does to a Job after this pod, and what is said then; where none fits it counts."""
    rules = spec.get("podFailurePolicy", {}).get("rules", [])
    if pod is None or not rules:
        return "Count", ""
    (container,) = pod["status"]["containerStatuses"]
    code, name = container["state"]["terminated"]["exitCode"], pod["metadata"]["name"]
    for index, rule in enumerate(rules):
        matching = f"matching {rule['action']} rule at index {index}"
        codes = rule.get("onExitCodes")
        if codes is None:
            (wanted,) = rule["onPodConditions"]
            assert wanted.items() <= _DISRUPTED.items()
            if _DISRUPTED in pod["status"].get("conditions", []):
                return rule["action"], f"Pod lab/{name} has condition DisruptionTarget {matching}"
            continue
        assert (codes["operator"], codes["containerName"]) == ("NotIn", container["name"])
        if code not in (0, *codes["values"]):
            return rule["action"], f"Container unit for pod lab/{name} failed with exit code {code} {matching}"
    return "Count", ""


def _answers(pod: Object) -> bool:
    probe = pod["spec"]["containers"][0].get("readinessProbe")
    if probe is None:
        return True
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", probe["tcpSocket"]["port"]), 1):
        return True
    return False


def _filled(text: str, environment: dict[str, str]) -> str:
    """As Kubernetes does it: `$$` is `$`, a name that is not there stays as it is."""
    return _REFERENCE.sub(lambda match: environment.get(match[1], match[0]) if match[1] else "$", text)


def _ranges(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def _uid(owner: Object) -> dict[str, str]:
    return {"uid": owner["metadata"]["uid"]}


def _seconds_between(first: str, last: str) -> float:
    return (dt.datetime.fromisoformat(last) - dt.datetime.fromisoformat(first)).total_seconds()
