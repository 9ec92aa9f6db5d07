# SPDX-License-Identifier: Apache-2.0
"""Units as custom jobs of Vertex AI, by Google's own library."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from aboard.errors import InvalidValue, UnitRefused
from aboard.executors.executor import Executor
from aboard.executors.filled_command import spec_digest
from aboard.executors.local import running_unit, unknown_unit
from aboard.executors.vertex_client import VertexClients, default_project, explained, is_absent, vertex
from aboard.executors.vertex_job import DIGEST_LABEL, UNIT_LABEL, custom_job
from aboard.executors.vertex_status import vertex_status
from aboard.executors.vertex_tensorboard import get_or_create_tensorboard
from aboard.model.uid import check_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_status import Endpoint, UnitStatus

_POLL_SECONDS = 5.0
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Vertex(Executor):
    """Containers on machines that Google runs. A unit has no ports there, and its output is in Cloud Logging.

    With `tensorboard` the job belongs to a TensorBoard instance of that display name, which is made if there is none;
    it reads what is below `base_output_directory`/logs.
    """

    name: ClassVar[str] = "vertex"
    knows_paths: ClassVar[bool] = True
    takes_images: ClassVar[bool] = True
    has_ports: ClassVar[bool] = False

    project: str = ""
    """Default: that of the person's credentials."""
    location: str = "us-central1"
    machine_type: str = ""
    """Default: the smallest n1-standard machine that has what the unit asks for."""
    service_account: str = ""
    """Of units that name none; with `tensorboard` one is needed."""
    tensorboard: str = ""
    base_output_directory: str = ""
    """gs://BUCKET/PATH; told to the unit as AIP_TENSORBOARD_LOG_DIR and its like."""
    network: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    endpoint_address: str = ""
    """Of the API, where it is not that of the location."""
    poll_seconds: float = _POLL_SECONDS
    """Between two looks for further output."""

    def __post_init__(self) -> None:
        if self.tensorboard and not self.base_output_directory:
            hint = "give base_output_directory=gs://BUCKET/PATH; the instance reads BUCKET/PATH/logs"
            raise InvalidValue(f"the TensorBoard {self.tensorboard!r} of Vertex has no log folder", hint=hint)
        if "://" in self.base_output_directory and not self.base_output_directory.startswith("gs://"):
            hint = "write gs://BUCKET/PATH"
            raise InvalidValue(f"Vertex cannot write to {self.base_output_directory!r}", hint=hint)
        for name, value in self.labels.items():
            if not (name and _LABEL.fullmatch(name) and _LABEL.fullmatch(value)):
                hint = "use up to 63 small letters, digits, '_' and '-'"
                raise InvalidValue(f"{name}={value!r} is not a label for Vertex", hint=hint)

    @property
    def output_uri(self) -> str:
        """Where Vertex puts what jobs leave; `gs://` may be left out."""
        told = self.base_output_directory.rstrip("/")
        return told if told.startswith("gs://") or not told else f"gs://{told}"

    @property
    def tensorboard_log_dir(self) -> str:
        """Where the TensorBoard instance of a unit reads; empty when it belongs to none."""
        return f"{self.output_uri}/logs" if self.tensorboard else ""

    def preview(self, specs: Sequence[UnitSpec], *, at_once: int | None = None) -> list[dict[str, Any]]:
        named = f"(the TensorBoard instance {self.tensorboard!r})" if self.tensorboard else ""
        return [{"customJob": custom_job(self, spec, named)} for spec in specs]

    def submit(self, spec: UnitSpec) -> UnitHandle:
        self._check_account(spec)
        custom_job(self, spec)  # refused before anything is made
        clients = self._clients()
        found = self._jobs_of(clients, spec.id)
        if not found:
            instance = get_or_create_tensorboard(clients, self.tensorboard) if self.tensorboard else ""
            with explained(clients):
                job = vertex.CustomJob(custom_job(self, spec, instance))
                made = clients.jobs.create_custom_job(parent=clients.parent, custom_job=job)
            # Names are given by Vertex, so two who submit at once both make a job: they agree on the first.
            found = self._jobs_of(clients, spec.id, made)
            for other in found[1:]:
                self._end_double(clients, other)
        if found[0].labels.get(DIGEST_LABEL) != spec_digest(spec):
            hint = "submit a changed unit under a new id"
            raise UnitRefused(f"there is another unit with the id {spec.id}", hint=hint)
        return self.handle(spec.id, job=str(found[0].name))

    def find(self, unit: str) -> UnitHandle | None:
        found = self._jobs_of(self._clients(), check_uid(unit))
        return self.handle(unit, job=str(found[0].name)) if found else None

    def status(self, handle: UnitHandle) -> UnitStatus:
        return vertex_status(self._known(self._clients(), handle))

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        from aboard.executors.vertex_logs import printed

        clients = self._clients()
        sent = 0
        while True:
            has_ended = self.status(handle).state.is_ended
            passed = 0
            with explained(clients):
                for line in printed(clients, handle.place["job"]):
                    passed += len(line)
                    if passed > max(sent, start):
                        yield line[len(line) - (passed - max(sent, start)) :]
                        sent = passed
            if has_ended or not follow:
                return
            time.sleep(self.poll_seconds)

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        """Vertex has a grace of its own; another one cannot be told to it."""
        if self.status(handle).state.is_ended:
            return
        clients = self._clients()
        with explained(clients):
            clients.jobs.cancel_custom_job(name=handle.place["job"])

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        """Jobs of Vertex have no ports."""
        raise InvalidValue(f"the unit has no port {port!r}", hint="its ports: none; jobs of Vertex have none")

    def console_url(self, handle: UnitHandle) -> str:
        """The job's page for a browser."""
        _, project, _, location, _, number = handle.place["job"].split("/")
        return f"https://console.cloud.google.com/ai/platform/locations/{location}/training/{number}?project={project}"

    def check_path(self, path: str) -> None:
        """Refuse a path that jobs cannot see; every bucket is a folder below /gcs there."""
        is_uri = "://" in path and not path.startswith("file:")
        if is_uri or path == "/gcs" or path.startswith("/gcs/"):
            return
        hint = "use a URI such as gs://BUCKET/PATH, or /gcs/BUCKET/PATH"
        raise InvalidValue(f"jobs of Vertex cannot see {path!r}", hint=hint)

    def forget(self, handle: UnitHandle) -> None:
        clients = self._clients()
        with explained(clients):
            job = self._found(clients, handle)
            if job is None:
                return
            if not vertex_status(job).state.is_ended:
                raise running_unit(handle)
            clients.jobs.delete_custom_job(name=job.name)

    def _clients(self) -> VertexClients:
        project = self.project or ("" if self.endpoint_address.startswith("http://") else default_project())
        if not project:
            hint = "give project=, or `gcloud auth application-default login` with a project"
            raise InvalidValue("Vertex needs the project that jobs belong to", hint=hint)
        return VertexClients(project, self.location, self.endpoint_address)

    def _check_account(self, spec: UnitSpec) -> None:
        if self.tensorboard and not (spec.service_account or self.service_account):
            hint = "give service_account=NAME@PROJECT.iam.gserviceaccount.com, which may write to the bucket"
            raise InvalidValue("a job of Vertex with a TensorBoard needs a service account", hint=hint)

    def _jobs_of(self, clients: VertexClients, unit: str, *made: Any) -> list[Any]:
        """The jobs of a unit, the first one first; with those just made, which a list may not have yet."""
        with explained(clients):
            request = {"parent": clients.parent, "filter": f"labels.{UNIT_LABEL}={unit.lower()}"}
            listed = clients.jobs.list_custom_jobs(request=request)
            found = {job.name: job for job in (*made, *listed)}
        return sorted(found.values(), key=lambda job: (job.create_time, job.name))

    def _end_double(self, clients: VertexClients, job: Any) -> None:
        with explained(clients):
            if not vertex_status(job).state.is_ended:
                clients.jobs.cancel_custom_job(name=job.name)

    def _found(self, clients: VertexClients, handle: UnitHandle) -> Any:
        try:
            return clients.jobs.get_custom_job(name=handle.place["job"])
        except Exception as error:
            if is_absent(error):
                return None
            raise

    def _known(self, clients: VertexClients, handle: UnitHandle) -> Any:
        with explained(clients):
            job = self._found(clients, handle)
        if job is None:
            raise unknown_unit(handle)
        return job
