# SPDX-License-Identifier: Apache-2.0
"""What Vertex AI does with custom jobs, as far as it is documented; their containers are processes of this machine.

There are no images. What Vertex says of a container that cannot be started is not known, and is not tried.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from aboard.executors import Local
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitSpec, UnitStatus
from support.vertex_api import VertexApi, vertex_api

_GRACE = 1.0  # of Vertex itself, which nobody can choose
_REFERENCE = re.compile(r"(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_LIVE = {UnitState.RUNNING: "JOB_STATE_RUNNING", UnitState.STOPPING: "JOB_STATE_CANCELLING"}
_ENDS = {
    EndReason.COMPLETED: "JOB_STATE_SUCCEEDED",
    EndReason.STOPPED: "JOB_STATE_CANCELLED",
    EndReason.TIMEOUT: "JOB_STATE_EXPIRED",
}
Object = dict[str, Any]


@contextlib.contextmanager
def vertex_machines(folder: Path) -> Generator[VertexApi]:
    """A server whose jobs run."""
    with vertex_api(has_machines=True) as api:
        machines = _Machines(api, folder)
        thread = threading.Thread(target=machines.work, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            machines.over.set()
            thread.join()
            machines.end()


class _Machines:
    def __init__(self, api: VertexApi, folder: Path) -> None:
        self.over = threading.Event()
        self._api, self._folder = api, folder
        self._local = Local(folder=str(folder / "containers"))
        self._containers: dict[str, UnitHandle] = {}
        self._failures: list[BaseException] = []
        api.cancel, api.printed = self._cancel, self._printed

    def work(self) -> None:
        while not self.over.wait(0.05):
            try:
                with self._api.lock:
                    for job in self._api.jobs:
                        self._look(job)
            except BaseException as error:
                self._failures.append(error)
                raise

    def end(self) -> None:
        for handle in self._containers.values():
            self._local.stop(handle, grace=0)
            self._local.wait(handle, 20)
        assert not self._failures, self._failures

    def _look(self, job: Object) -> None:
        number = job["name"].rpartition("/")[2]
        if job["state"] == "JOB_STATE_PENDING" and number not in self._containers:
            self._containers[number] = self._local.submit(self._unit(job))
        if number in self._containers and "endTime" not in job:
            job.update(_job_fields(self._local.status(self._containers[number]), job["state"]))

    def _unit(self, job: Object) -> UnitSpec:
        (pool,) = job["jobSpec"]["workerPoolSpecs"]
        container = pool["containerSpec"]
        environment: dict[str, str] = {}
        for variable in container.get("env", []):
            environment[variable["name"]] = _filled(variable["value"], environment)
        own, used = environment.get("ABOARD_UNIT_ID"), {handle.unit for handle in self._containers.values()}
        timeout = job["jobSpec"]["scheduling"].get("timeout")
        return UnitSpec(
            id=own if own and own not in used else new_uid(),  # the process is told this one
            name="container",
            command=tuple(container["command"]),
            environment=environment,
            source=str(self._folder),
            timeout=float(timeout.removesuffix("s")) if timeout else None,
            grace=_GRACE,
        )

    def _cancel(self, job: Object) -> None:
        handle = self._containers.get(job["name"].rpartition("/")[2])
        job["state"] = "JOB_STATE_CANCELLED" if handle is None else "JOB_STATE_CANCELLING"
        if handle is not None:
            self._local.stop(handle)

    def _printed(self, number: str) -> list[Object]:
        """An entry for each line, and for what stands behind the last one when nothing can come any more."""
        handle = self._containers.get(number)
        if handle is None:
            return []
        has_ended = self._local.status(handle).state.is_ended
        *lines, rest = b"".join(self._local.logs(handle)).decode().split("\n")
        return [{"job": number, "textPayload": line} for line in (*lines, *([rest] if rest and has_ended else []))]


def _job_fields(status: UnitStatus, before: str) -> Object:
    started = {"startTime": status.started.isoformat()} if status.started else {}
    if status.reason is None:
        is_cancelled = before == "JOB_STATE_CANCELLING"
        return {"state": before if is_cancelled else _LIVE.get(status.state, "JOB_STATE_PENDING"), **started}
    ended = {**started, **({"endTime": status.ended.isoformat()} if status.ended else {})}
    if status.reason in _ENDS:
        return {"state": _ENDS[status.reason], **ended}
    code = status.exit_code if status.exit_code is not None else 127
    message = f"The replica workerpool0-0 exited with a non-zero status of {code}."
    return {"state": "JOB_STATE_FAILED", "error": {"message": message}, **ended}


def _filled(text: str, environment: dict[str, str]) -> str:
    """As Vertex documents it: `$$(NAME)` is `$(NAME)`, a name that is not there stays as it is."""
    return _REFERENCE.sub(lambda match: match[0][1:] if match[1] else environment.get(match[2], match[0]), text)
