# SPDX-License-Identifier: Apache-2.0
"""A unit as a container: everything that is said when it is created."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidValue, UnitRefused
from aboard.executors.docker_client import BindMount, DeviceRequest
from aboard.executors.filled_command import filled_command, spec_digest, unit_environment
from aboard.model.unit import UnitSpec

if TYPE_CHECKING:
    from aboard.executors.docker import Docker

UNIT_LABEL, DIGEST_LABEL, NAME_LABEL = "aboard.unit", "aboard.digest", "aboard.name"
SOURCE = "source"
_FIRST_PORT = 20000  # of those that a unit leaves open: inside a container all are free
_CREDENTIALS = {
    "gcloud": ("~/.config/gcloud", "/root/.config/gcloud", "gcloud auth application-default login"),
    "aws": ("~/.aws", "/root/.aws", "aws configure"),
    "azure": ("~/.azure", "/root/.azure", "az login"),
}
_GCS = ("~/gcs", "/gcs", "gcsfuse --implicit-dirs BUCKET ~/gcs")


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
        "command": filled_command(spec, environment) or None,
        "name": container_name(spec.id),
        "environment": environment,
        "labels": {**spec.labels, UNIT_LABEL: spec.id, DIGEST_LABEL: spec_digest(spec), NAME_LABEL: spec.name},
        "mounts": _mounts(options, spec),
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


def _mounts(options: Docker, spec: UnitSpec) -> list[BindMount]:
    mounts = [BindMount(mount.target, _path(mount.source), "bind", mount.read_only) for mount in spec.mounts]
    mounts += [BindMount(inside, _path(outside), "bind") for outside, inside in options.volumes.items()]
    for name in options.credentials:
        if name not in _CREDENTIALS:
            raise InvalidValue(f"there are no credentials {name!r}", hint=f"there are: {', '.join(_CREDENTIALS)}")
        mounts.append(_present(*_CREDENTIALS[name], read_only=True))
    if options.mount_gcs_path:
        mounts.append(_present(*_GCS, read_only=False))
    return mounts


def _present(outside: str, inside: str, made_by: str, *, read_only: bool) -> BindMount:
    path = _path(outside)
    if not Path(path).is_dir():
        raise UnitRefused(f"{outside} is to be mounted at {inside}, but is not there", hint=f"`{made_by}` makes it")
    return BindMount(inside, path, "bind", read_only)


def _path(path: str) -> str:
    return str(Path(os.path.expanduser(path)).absolute())  # noqa: PTH111 - a path of the daemon's machine may be any


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
