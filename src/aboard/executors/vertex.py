# SPDX-License-Identifier: Apache-2.0
"""Units as custom jobs of Vertex AI: the executor, the job it submits, its status, output and TensorBoard instance."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from aboard.errors import AboardError, ExecutorUnavailable, InvalidValue, MissingPackage, UnitRefused
from aboard.executors.executor import (
    Executor,
    fill_in_command,
    refuse_parts,
    running_unit,
    spec_digest,
    unit_environment,
    unknown_unit,
)
from aboard.model.names import check_uid
from aboard.model.states import UnitState
from aboard.model.units import Endpoint, EndReason, UnitHandle, UnitSpec, UnitStatus, state_after

try:
    # Named by text: the library is large, and checkers work without it.
    vertex: Any = importlib.import_module("google.cloud.aiplatform_v1")
    _faults: Any = importlib.import_module("google.api_core.exceptions")
    _auth: Any = importlib.import_module("google.auth")
    _auth_faults: Any = importlib.import_module("google.auth.exceptions")
    _credentials: Any = importlib.import_module("google.auth.credentials")
    _requests: Any = importlib.import_module("google.auth.transport.requests")
except ImportError:
    hint = "pip install 'aboard[vertex]'"
    raise MissingPackage("the executor vertex needs google-cloud-aiplatform", hint=hint) from None

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_LOGGING = "https://logging.googleapis.com"


@dataclass(frozen=True)
class VertexClients:
    """What speaks to one region of one project. What an http:// address leads to gets no credentials."""

    project: str
    location: str
    endpoint: str = ""

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.location}"

    @cached_property
    def jobs(self) -> Any:
        return self._client("JobService")

    @cached_property
    def tensorboards(self) -> Any:
        return self._client("TensorboardService")

    def log_entries(self, body: dict[str, Any]) -> dict[str, Any]:
        """One page of entries of Cloud Logging, which the library has no call for."""
        with _requests.AuthorizedSession(self._credentials) as session:
            base = self.endpoint if self._is_plain else _LOGGING
            answer = session.post(f"{base}/v2/entries:list", json=body, timeout=60)
        if answer.status_code != 200:
            raise _faults.from_http_response(answer)
        return answer.json()

    @property
    def _is_plain(self) -> bool:
        return self.endpoint.startswith("http://")

    @cached_property
    def _credentials(self) -> Any:
        return _credentials.AnonymousCredentials() if self._is_plain else _auth.default(scopes=_SCOPES)[0]

    def _client(self, service: str) -> Any:
        kind = getattr(vertex, f"{service}Client")
        host = urlsplit(self.endpoint).netloc or self.endpoint or f"{self.location}-aiplatform.googleapis.com"
        transport = kind.get_transport_class("rest")
        scheme = "http" if self._is_plain else "https"
        return kind(transport=transport(host=host, credentials=self._credentials, url_scheme=scheme))


def default_project() -> str:
    """The project of the person's credentials; empty where there is none."""
    try:
        return _auth.default(scopes=_SCOPES)[1] or ""
    except _auth_faults.GoogleAuthError:
        return ""


def is_absent(error: BaseException) -> bool:
    return isinstance(error, _faults.NotFound)


@contextlib.contextmanager
def translate_errors(clients: VertexClients) -> Generator[None]:
    try:
        yield
    except _auth_faults.GoogleAuthError as error:
        hint = "`gcloud auth application-default login`, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
        raise ExecutorUnavailable(f"Google does not know who you are: {error}", hint=hint) from error
    except _faults.GoogleAPICallError as error:
        raise _refusal(error, clients) from error
    except OSError as error:  # of requests, which has no other ancestor
        raise ExecutorUnavailable(f"Vertex AI does not answer: {error}", hint="try again later") from error


def _refusal(error: Any, clients: VertexClients) -> AboardError:
    said = str(error.message or error)
    if isinstance(error, _faults.Unauthenticated):
        hint = "log in again: `gcloud auth application-default login`"
        return ExecutorUnavailable(f"Google does not know who you are: {said}", hint=hint)
    if isinstance(error, _faults.ResourceExhausted | _faults.TooManyRequests):
        hint = f"look at the quotas of Vertex AI in {clients.location}, ask for less, or name another location="
        return UnitRefused(f"the quota of {clients.project} is used up: {said}", hint=hint)
    if isinstance(error, _faults.Forbidden):
        hint = f"ask for the role Vertex AI User in {clients.project}, and that its API is enabled"
        return UnitRefused(f"Vertex AI does not allow this: {said}", hint=hint)
    if isinstance(error, _faults.ServerError):
        return ExecutorUnavailable(f"Vertex AI failed: {said}", hint="try again later")
    return UnitRefused(f"Vertex AI refused: {said}", hint=f"asked in {clients.parent}")


_LIVE_STATES = {
    "JOB_STATE_QUEUED": UnitState.PENDING,
    "JOB_STATE_PENDING": UnitState.PENDING,
    "JOB_STATE_PAUSED": UnitState.PENDING,
    "JOB_STATE_RUNNING": UnitState.RUNNING,
    "JOB_STATE_UPDATING": UnitState.RUNNING,
    "JOB_STATE_CANCELLING": UnitState.STOPPING,
}
_END_REASONS = {
    "JOB_STATE_SUCCEEDED": EndReason.COMPLETED,
    "JOB_STATE_PARTIALLY_SUCCEEDED": EndReason.COMPLETED,
    "JOB_STATE_CANCELLED": EndReason.STOPPED,
    "JOB_STATE_EXPIRED": EndReason.TIMEOUT,
    "JOB_STATE_FAILED": EndReason.EXITED,
}
_EXIT_CODE = re.compile(r"non-zero status of (\d+)")
_TIMEOUT = re.compile(r"timeout|timed out|exceeded .*time", re.IGNORECASE)
_NOT_STARTED = re.compile(r"image|permission|not found|quota|resources are insufficient", re.IGNORECASE)


def vertex_status(job: Any) -> UnitStatus:
    """The status of the unit that is this job."""
    state, said = job.state.name, str(job.error.message or "")
    if state in _LIVE_STATES:
        return UnitStatus(state=_LIVE_STATES[state], message=said, started=_time_or_none(job.start_time))
    reason = _END_REASONS.get(state, EndReason.LOST)
    code = 0 if reason is EndReason.COMPLETED else None
    if reason is EndReason.EXITED:
        found = _EXIT_CODE.search(said)
        code = int(found[1]) if found else None
        if code is None and _TIMEOUT.search(said):
            reason = EndReason.TIMEOUT
        elif code is None and not job.start_time and _NOT_STARTED.search(said):
            reason = EndReason.NOT_STARTED
    longest = job.job_spec.scheduling.timeout
    if reason is EndReason.TIMEOUT and longest and not said:
        said = f"its time of {longest.total_seconds():g} s was over"
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=said or ("" if reason in {EndReason.COMPLETED, EndReason.STOPPED} else state),
        exit_code=code,
        started=_time_or_none(job.start_time),
        ended=_time_or_none(job.end_time),
    )


def _time_or_none(moment: Any) -> Any:
    return moment or None


if TYPE_CHECKING:
    pass

UNIT_LABEL, DIGEST_LABEL = "aboard-unit", "aboard-digest"
_REFUSED_PARTS = {
    "mounts": "jobs of Vertex do not see this machine's folders: they see gs://BUCKET/PATH, also as /gcs/BUCKET/PATH",
    "source": "jobs of Vertex do not see this machine's folders: put the source into the image",
    "ports": "jobs of Vertex cannot be connected to; TensorBoard is the instance that tensorboard= names",
    "serves": "jobs of Vertex cannot be connected to; TensorBoard is the instance that tensorboard= names",
}


def custom_job(options: Vertex, spec: UnitSpec, tensorboard: str = "") -> dict[str, Any]:
    """The job; `tensorboard` is the resource name of an instance."""
    refuse_parts("vertex", spec, _REFUSED_PARTS)
    if not spec.image:
        hint = "Give --image IMAGE (image= in Python); jobs of Vertex run nothing else."
        raise InvalidValue(f"unit {spec.name} has no image", hint=hint)
    environment = unit_environment(spec, {})
    container: dict[str, Any] = {
        "image_uri": spec.image,
        # Vertex reads `$(NAME)` in values as a variable, and `$$(NAME)` as what was meant.
        "env": [{"name": name, "value": value.replace("$(", "$$(")} for name, value in environment.items()],
    }
    if spec.command:
        container["command"] = fill_in_command(spec, environment)
    pool = {"machine_spec": _machine_spec(options, spec), "replica_count": 1, "container_spec": container}
    # Vertex starts a job again after failures of its own alone, and as often as it likes: `aboard run` counts.
    scheduling: dict[str, Any] = {"disable_retries": not spec.restarts}
    if spec.timeout is not None:
        scheduling["timeout"] = f"{math.ceil(spec.timeout)}s"
    job: dict[str, Any] = {"worker_pool_specs": [pool], "scheduling": scheduling}
    account = spec.service_account or options.service_account
    if account:
        job["service_account"] = account
    if options.network:
        job["network"] = options.network
    if options.base_output_directory:
        job["base_output_directory"] = {"output_uri_prefix": options.output_uri}
    if tensorboard:
        job["tensorboard"] = tensorboard
    own = {UNIT_LABEL: spec.id.lower(), DIGEST_LABEL: spec_digest(spec)}
    labels = {**{name.lower().replace(".", "-"): value.lower() for name, value in spec.labels.items()}, **own}
    return {"display_name": spec.name, "job_spec": job, "labels": {**options.labels, **labels}}


def _machine_spec(options: Vertex, spec: UnitSpec) -> dict[str, Any]:
    """Vertex has machines of fixed sizes; one that was named is taken, whatever the unit asks for."""
    asked = spec.resources
    machine: dict[str, Any] = {"machine_type": options.machine_type or _machine_type(asked.cpus, asked.memory)}
    if asked.gpus:
        if not asked.gpu_type:
            hint = "give gpu_type=, as NVIDIA_TESLA_T4 or NVIDIA_L4"
            raise InvalidValue(f"{asked.gpus} GPUs of Vertex need a type", hint=hint)
        machine |= {"accelerator_type": asked.gpu_type.upper().replace("-", "_"), "accelerator_count": asked.gpus}
    return machine


def _machine_type(cpus: float | None, memory: int | None) -> str:
    """The smallest machine of the general kind (3.75 GB for each CPU) that has what is asked for; two CPUs and more."""
    needed = max(cpus or 4, (memory or 0) / (3.75 * (1 << 30)))
    for size in (4, 8, 16, 32, 64, 96):
        if needed <= size:
            return f"n1-standard-{size}"
    hint = "name machine_type= of the executor"
    raise InvalidValue(f"no n1-standard machine has {cpus} CPUs and {memory} bytes of memory", hint=hint)


_LOG_PAGE = 1000


def job_output(clients: VertexClients, job: str) -> Iterator[bytes]:
    """The lines of a job, given by its resource name."""
    number = job.rpartition("/")[2]
    request: dict[str, Any] = {
        "resourceNames": [f"projects/{clients.project}"],
        "filter": f'resource.type="ml_job" AND resource.labels.job_id="{number}"',
        "orderBy": "timestamp asc",
        "pageSize": _LOG_PAGE,
    }
    while True:
        page = clients.log_entries(request)
        for entry in page.get("entries", []):
            yield f"{_entry_text(entry)}\n".encode()
        if not page.get("nextPageToken"):
            return
        request = {**request, "pageToken": page["nextPageToken"]}


def _entry_text(entry: dict[str, Any]) -> str:
    """Python's own logging arrives as a document with the line in it."""
    if "textPayload" in entry:
        return str(entry["textPayload"]).rstrip("\n")
    payload = entry.get("jsonPayload", {})
    return str(payload["message"]).rstrip("\n") if "message" in payload else json.dumps(payload)


_MAKE_SECONDS, _MAKE_POLL_SECONDS = 300.0, 1.0


def create_tensorboard(clients: VertexClients, name: str) -> str:
    """A new instance with this display name; its resource name."""
    before = {one.name for one in _tensorboards_named(clients, name)}
    with translate_errors(clients):
        made = vertex.Tensorboard(display_name=name)
        clients.tensorboards.create_tensorboard(parent=clients.parent, tensorboard=made)
    # The library asks for its operations at an address that only Google's own pages use, so the list is looked at.
    end = time.monotonic() + _MAKE_SECONDS
    while time.monotonic() < end:
        for one in _tensorboards_named(clients, name):
            if one.name not in before:
                return str(one.name)
        time.sleep(_MAKE_POLL_SECONDS)
    raise ExecutorUnavailable(
        f"the TensorBoard {name!r} of Vertex was not there after {_MAKE_SECONDS:.0f} s", hint="try again later"
    )


def get_or_create_tensorboard(clients: VertexClients, name: str) -> str:
    """The oldest instance with this display name, made if there is none; its resource name."""
    found = _tensorboards_named(clients, name)
    return str(found[0].name) if found else create_tensorboard(clients, name)


def _tensorboards_named(clients: VertexClients, name: str) -> list[Any]:
    with translate_errors(clients):
        request = {"parent": clients.parent, "filter": f"display_name={json.dumps(name)}"}
        found = [one for one in clients.tensorboards.list_tensorboards(request=request) if one.display_name == name]
    return sorted(found, key=lambda one: (one.create_time, one.name))


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
            with translate_errors(clients):
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

        clients = self._clients()
        sent = 0
        while True:
            has_ended = self.status(handle).state.is_ended
            passed = 0
            with translate_errors(clients):
                for line in job_output(clients, handle.place["job"]):
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
        with translate_errors(clients):
            clients.jobs.cancel_custom_job(name=handle.place["job"])

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        """Jobs of Vertex have no ports."""
        raise InvalidValue(f"the unit has no port {port!r}", hint="its ports: none; jobs of Vertex have none")

    def console_url(self, handle: UnitHandle) -> str:
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
        with translate_errors(clients):
            job = self._get_job(clients, handle)
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
        with translate_errors(clients):
            request = {"parent": clients.parent, "filter": f"labels.{UNIT_LABEL}={unit.lower()}"}
            listed = clients.jobs.list_custom_jobs(request=request)
            found = {job.name: job for job in (*made, *listed)}
        return sorted(found.values(), key=lambda job: (job.create_time, job.name))

    def _end_double(self, clients: VertexClients, job: Any) -> None:
        with translate_errors(clients):
            if not vertex_status(job).state.is_ended:
                clients.jobs.cancel_custom_job(name=job.name)

    def _get_job(self, clients: VertexClients, handle: UnitHandle) -> Any:
        try:
            return clients.jobs.get_custom_job(name=handle.place["job"])
        except Exception as error:
            if is_absent(error):
                return None
            raise

    def _known(self, clients: VertexClients, handle: UnitHandle) -> Any:
        with translate_errors(clients):
            job = self._get_job(clients, handle)
        if job is None:
            raise unknown_unit(handle)
        return job
