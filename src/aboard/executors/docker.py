# SPDX-License-Identifier: Apache-2.0
"""Units as Docker containers. The daemon keeps all there is to know: a container is found again by its label."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from aboard.config.home import machine_folder
from aboard.config.settings import load_settings
from aboard.errors import AboardError, InvalidValue, UnitRefused
from aboard.executors.docker_daemon import (
    FAILURES,
    LIVE,
    BindMount,
    Client,
    Container,
    DeviceRequest,
    connect,
    container_status,
    docker,
    mark_container,
    pull_refusal,
    translate_errors,
)
from aboard.executors.executor import (
    Executor,
    fill_in_command,
    refuse_gpu_type,
    refuse_parts,
    running_unit,
    spec_digest,
    start_time_variable,
    unit_environment,
    unknown_unit,
)
from aboard.executors.local import Local
from aboard.executors.source_archive import source_archive
from aboard.model.names import check_uid
from aboard.model.units import Endpoint, ResourceUsage, UnitHandle, UnitSpec, UnitStatus

if TYPE_CHECKING:
    pass

UNIT_LABEL, DIGEST_LABEL, NAME_LABEL = "aboard.unit", "aboard.digest", "aboard.name"
SOURCE = "source"
_FIRST_PORT = 20000  # of those that a unit leaves open: inside a container all are free
_CREDENTIALS = {
    "gcloud": ("~/.config/gcloud", "/root/.config/gcloud", "gcloud auth application-default login"),
    "aws": ("~/.aws", "/root/.aws", "aws configure"),
    "azure": ("~/.azure", "/root/.azure", "az login"),
}
_GCS_MOUNT = ("~/gcs", "/gcs", "gcsfuse --implicit-dirs BUCKET ~/gcs")


def container_name(unit: str) -> str:
    """Docker keeps names unique, which is why a unit is never created twice."""
    return f"aboard-{unit.lower()}"


def container_options(options: Docker, spec: UnitSpec) -> dict[str, Any]:
    """The arguments of `containers.create`."""
    ports = container_ports(options.network, spec)
    environment = unit_environment(spec, ports)
    if "host" in options.network and options.ports:
        raise InvalidValue("in the host's network no port is published", hint="leave ports= or network= out")
    asked = spec.resources
    arguments: dict[str, Any] = {
        "image": spec.image,
        "command": fill_in_command(spec, environment) or None,
        "name": container_name(spec.id),
        "environment": environment,
        "labels": {**spec.labels, UNIT_LABEL: spec.id, DIGEST_LABEL: spec_digest(spec), NAME_LABEL: spec.name},
        "mounts": _bind_mounts(options, spec),
        "init": True,  # the first process of a container would otherwise ignore SIGTERM
        "detach": True,
    }
    if options.network != "host":
        arguments["ports"] = _published(options, spec, ports)
    if options.network:
        arguments["network"] = options.network
    if options.user:
        arguments["user"] = options.user
    if spec.source:
        arguments["working_dir"] = f"/{SOURCE}"
    if spec.restarts:
        # The daemon cannot tell a killed process from one that failed: both are started again, and counted together.
        arguments["restart_policy"] = {"Name": "on-failure", "MaximumRetryCount": spec.restarts}
    if asked.memory:
        arguments["mem_limit"] = asked.memory
    if asked.cpus:
        arguments["nano_cpus"] = math.ceil(asked.cpus * 1e9)
    if asked.gpus:
        arguments["device_requests"] = [DeviceRequest(count=asked.gpus, capabilities=[["gpu"]])]
    return arguments


def container_ports(network: str, spec: UnitSpec) -> dict[str, int]:
    """The number of each port as the process sees it."""
    numbers: dict[str, int] = {}
    for index, port in enumerate(spec.ports):
        numbers[port.name] = port.number or (_free_port() if network == "host" else _FIRST_PORT + index)
    return numbers


def _published(options: Docker, spec: UnitSpec, ports: Mapping[str, int]) -> dict[str, tuple[str, int | None]]:
    """Container port → address and port of the machine; on its loopback address, unless the daemon is elsewhere."""
    interface = "127.0.0.1" if options.is_here else "0.0.0.0"  # noqa: S104 - it is to be reached from this machine
    published = {f"{ports[port.name]}/tcp": (interface, port.host) for port in spec.ports}
    for inside, outside in options.ports.items():
        published[f"{int(inside)}/tcp"] = (interface, int(outside))
    return published


def _bind_mounts(options: Docker, spec: UnitSpec) -> list[BindMount]:
    mounts = [BindMount(mount.target, _daemon_path(mount.source), "bind", mount.read_only) for mount in spec.mounts]
    mounts += [BindMount(inside, _daemon_path(outside), "bind") for outside, inside in options.volumes.items()]
    for name in options.credentials:
        if name not in _CREDENTIALS:
            raise InvalidValue(f"there are no credentials {name!r}", hint=f"there are: {', '.join(_CREDENTIALS)}")
        mounts.append(_existing_mount(*_CREDENTIALS[name], read_only=True))
    if options.mount_gcs_path:
        mounts.append(_existing_mount(*_GCS_MOUNT, read_only=False))
    return mounts


def _existing_mount(outside: str, inside: str, made_by: str, *, read_only: bool) -> BindMount:
    path = _daemon_path(outside)
    if not Path(path).is_dir():
        raise UnitRefused(f"{outside} is to be mounted at {inside}, but is not there", hint=f"`{made_by}` makes it")
    return BindMount(inside, path, "bind", read_only)


def _daemon_path(path: str) -> str:
    return str(Path(os.path.expanduser(path)).absolute())  # noqa: PTH111 - a path of the daemon's machine may be any


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


_PULLS = ("missing", "never", "always")
_CREATE_SECONDS = 30.0
_FOLLOW_SECONDS = 0.2
_HERE = "unix:///var/run/docker.sock"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Docker(Executor):
    """Containers of one Docker daemon. `source` is copied to /source in the container, and is where the command runs.

    Ports go from the container to the machine: `ports={6006: 8080}` is the container's 6006 at localhost:8080. They are
    published on the loopback address, unless the daemon is on another machine.
    """

    name: ClassVar[str] = "docker"
    takes_images: ClassVar[bool] = True
    takes_mounts: ClassVar[bool] = True
    brings_source: ClassVar[bool] = True
    restarts_failures: ClassVar[bool] = True
    publishes_ports: ClassVar[bool] = True

    address: str = ""
    """Where the daemon is, as DOCKER_HOST says it; default: that variable, or the one of this machine."""
    ports: Mapping[int, int] = field(default_factory=dict[int, int])
    """Container port → port of the machine, besides those of the unit."""
    volumes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Folder of the machine → where the container sees it; `mounts` of a unit can be read-only."""
    credentials: tuple[str, ...] = ()
    """Of the person, seen read-only: gcloud, aws, azure."""
    mount_gcs_path: bool = False
    """Have ~/gcs, where gcsfuse has mounted a bucket, at /gcs."""
    network: str = ""
    user: str = ""
    pull: str = "missing"

    def __post_init__(self) -> None:
        if self.pull not in _PULLS:
            raise InvalidValue(f"{self.pull!r} does not say when to pull", hint=f"write one of: {', '.join(_PULLS)}")
        for number in (*self.ports, *self.ports.values()):
            if not str(number).isdecimal() or not 1 <= int(number) <= 65535:
                raise InvalidValue(f"{number!r} is not a port", hint="write {container port: port of the machine}")
        # From JSON come texts and lists; the same options must be the same executor.
        object.__setattr__(self, "ports", {int(inside): int(outside) for inside, outside in self.ports.items()})
        object.__setattr__(self, "credentials", tuple(self.credentials))

    @property
    def is_here(self) -> bool:
        return self._address().startswith("unix://")

    @property
    def is_reached_from_anywhere(self) -> bool:
        return not self.is_here and urlsplit(self._address()).hostname not in _LOOPBACK

    def written_out(self) -> Self:
        return replace(self, address=self._address())

    def submit(self, spec: UnitSpec) -> UnitHandle:
        refuse_parts(self.name, spec, {"service_account": "mount credentials instead: credentials=('gcloud',)"})
        refuse_gpu_type(self.name, spec)
        if not spec.image:
            hint = "Give --image IMAGE (image= in Python), or use the executor local."
            raise InvalidValue(f"unit {spec.name} has no image", hint=hint)
        with translate_errors(self._address()), self._client() as client:
            container = self._find_container(client, spec.id)
            packed = b""
            if spec.source and (container is None or _was_never_started(container)):
                packed = source_archive(spec.source, below=SOURCE)  # one that cannot be read leaves no container
            container = container or self._created(client, spec)
            if container.labels.get(DIGEST_LABEL) != spec_digest(spec):
                hint = "submit a changed unit under a new id"
                raise UnitRefused(f"there is another unit with the id {spec.id}", hint=hint)
            if _was_never_started(container):
                self._start(container, spec, packed)
        return self.handle(spec.id)

    def find(self, unit: str) -> UnitHandle | None:
        with translate_errors(self._address()), self._client() as client:
            container = self._find_container(client, check_uid(unit))
            return None if container is None or _was_never_started(container) else self.handle(unit)

    def status(self, handle: UnitHandle) -> UnitStatus:
        with translate_errors(self._address()), self._client() as client:
            return container_status(self._known(client, handle))

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        with translate_errors(self._address()), self._client() as client:
            sent = start
            while True:
                container = self._known(client, handle)
                passed = 0
                for piece in container.logs(stream=True, follow=follow):
                    wanted = piece[max(0, sent - passed) :]
                    passed += len(piece)
                    sent = max(sent, passed)
                    if wanted:
                        yield wanted
                # The daemon ends what is followed with each start of a container; asked before, so nothing is missed.
                if not follow or container.status not in LIVE:
                    return
                time.sleep(_FOLLOW_SECONDS)

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        with translate_errors(self._address()), self._client() as client:
            container = self._known(client, handle)
            if container.status not in LIVE:
                return
            mark_container(container, "stopped")
            seconds = float(container.labels.get("aboard.grace", "10")) if grace is None else grace
            if seconds <= 0:
                container.kill()
                return
            self._end_after(self._ending(handle.unit, str(container.id), 0.0, seconds, "stopped"))

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        with translate_errors(self._address()), self._client() as client:
            container = self._known(client, handle)
            number = _port_number(container, port)
            host = "127.0.0.1" if self.is_here else urlsplit(self._address()).hostname or ""
            if container.attrs["HostConfig"]["NetworkMode"] == "host":
                return Endpoint(host=host, port=number)
            published = container.attrs["NetworkSettings"]["Ports"].get(f"{number}/tcp")
            return Endpoint(host=host, port=int(published[0]["HostPort"])) if published else None

    def usage(self, handle: UnitHandle) -> ResourceUsage | None:
        with translate_errors(self._address()), self._client() as client:
            container = self._known(client, handle)
            if container.status != "running":
                return None
            told: dict[str, Any] = container.stats(stream=False, one_shot=True)
            return ResourceUsage(
                processes=told["pids_stats"].get("current", 0),
                memory=told["memory_stats"].get("usage", 0),
                cpu_seconds=told["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9,
            )

    def forget(self, handle: UnitHandle) -> None:
        with translate_errors(self._address()), self._client() as client:
            container = self._find_container(client, handle.unit)
            if container is not None and container.status in LIVE:
                raise running_unit(handle)
            if container is not None:
                container.remove(v=True)
        for kind in ("stops", "timeouts"):
            _remove(self._ender(kind), handle.unit)

    def _address(self) -> str:
        return self.address or os.environ.get("DOCKER_HOST", "") or _HERE

    def _client(self) -> contextlib.closing[Client]:
        return contextlib.closing(connect(self._address()))

    def _known(self, client: Client, handle: UnitHandle) -> Container:
        container = self._find_container(client, handle.unit)
        if container is None:
            raise unknown_unit(handle)
        return container

    def _find_container(self, client: Client, unit: str) -> Container | None:
        found = client.containers.list(all=True, ignore_removed=True, filters={"label": f"{UNIT_LABEL}={unit}"})
        return found[0] if found else None

    def _created(self, client: Client, spec: UnitSpec) -> Container:
        options = container_options(self, spec)
        options["labels"]["aboard.grace"] = f"{spec.grace:g}"
        options["labels"]["aboard.timeout"] = f"{spec.timeout or 0:g}"
        self._have_image(client, spec.image)
        options["environment"].update(start_time_variable(spec))
        try:
            return client.containers.create(**options)
        except docker.errors.APIError as error:
            if error.status_code == 409 and container_name(spec.id) in str(error.explanation):
                return _created_by_another(client, container_name(spec.id))
            raise

    def _have_image(self, client: Client, image: str) -> None:
        if self.pull != "always":
            try:
                client.images.get(image)
            except docker.errors.ImageNotFound:
                if self.pull == "never":
                    hint = "pull or build it on the daemon's machine, or leave pull= out"
                    raise UnitRefused(f"the image {image!r} is not here, and is not to be pulled", hint=hint) from None
            else:
                return
        try:
            client.images.pull(image)
        except docker.errors.APIError as error:
            raise pull_refusal(image, error) from error

    def _start(self, container: Container, spec: UnitSpec, packed: bytes) -> None:
        if packed:
            try:
                container.put_archive("/", packed)
            except FAILURES:
                _discard(container)
                raise
        try:
            container.start()
        except docker.errors.APIError as error:
            if not _is_about_the_command(str(error.explanation)):
                _discard(container)
                raise
            return  # the container tells it when its status is asked
        if spec.timeout is not None:
            timer = self._ending(spec.id, str(container.id), spec.timeout, spec.grace, "timeout")
            try:
                self._ender("timeouts").submit(timer)
            except AboardError:
                _discard(container, force=True)  # nobody would end it
                raise

    def _end_after(self, ending: UnitSpec) -> None:
        """Have the container ended. Whoever asks again with another grace, or after an ender that died, is heard."""
        ender = self._ender("stops")
        try:
            if not ender.status(ender.submit(ending)).state.is_ended:
                return
        except UnitRefused:  # one with another grace
            pass
        _remove(ender, ending.id)
        ender.submit(ending)

    def _ender(self, kind: str) -> Local:
        return Local(folder=str(machine_folder(load_settings().home) / "docker" / kind))

    def _ending(self, unit: str, container: str, after: float, grace: float, word: str) -> UnitSpec:
        module = "aboard.executors.docker_daemon"
        command = (sys.executable, "-m", module, self._address(), container, f"{after}", f"{grace}", word)
        return UnitSpec(id=unit, name=f"docker-{word}", command=command)


def _remove(ender: Local, unit: str) -> None:
    if (timer := ender.find(unit)) is not None:
        ender.stop(timer, grace=0)
        ender.wait(timer, 10)
        ender.forget(timer)


def _created_by_another(client: Client, name: str) -> Container:
    """The container that another submitter is just creating: its name is taken a moment before it can be seen."""
    deadline = time.monotonic() + _CREATE_SECONDS
    while True:
        try:
            return client.containers.get(name)
        except docker.errors.NotFound:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _was_never_started(container: Container) -> bool:
    return container.status == "created" and not container.attrs["State"]["Error"]


def _discard(container: Container, *, force: bool = False) -> None:
    """Leave nothing of what failed: under the same id it may be tried again. What another has started runs on."""
    with contextlib.suppress(*FAILURES):
        container.remove(v=True, force=force)


def _is_about_the_command(said: str) -> bool:
    return "executable file not found" in said or "no such file or directory" in said or "permission denied" in said


def _port_number(container: Container, port: str) -> int:
    entries: list[str] = container.attrs["Config"]["Env"] or []
    told: dict[str, str] = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    variable = f"ABOARD_PORT_{port.upper().replace('-', '_')}"
    if variable not in told:
        known = [name.removeprefix("ABOARD_PORT_").lower() for name in told if name.startswith("ABOARD_PORT_")]
        raise InvalidValue(f"the unit has no port {port!r}", hint=f"its ports: {', '.join(known) or 'none'}")
    return int(told[variable])
