# SPDX-License-Identifier: Apache-2.0
"""The door to the docker SDK, which has no types: what it hands out is looked at as it is."""

from __future__ import annotations

import socket
from typing import Any, TypeAlias, cast

from aboard.errors import MissingPackage

try:
    import docker
    import docker.errors
    import docker.types
except ImportError as error:
    raise MissingPackage("the executor docker needs the docker SDK", hint="pip install 'aboard[docker]'") from error

DeviceRequest = docker.types.DeviceRequest
BindMount = docker.types.Mount
Client: TypeAlias = Any
Container: TypeAlias = Any


def connect(address: str, *, timeout: float = 60.0) -> Client:
    """A client of the daemon at `address`; to be closed."""
    _check_socket(address)
    return cast("Any", docker).DockerClient(base_url=address, timeout=timeout)


def _check_socket(address: str) -> None:
    """The SDK leaves a socket open for each daemon that it does not find: it is not asked when there is none."""
    if not address.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.removeprefix("unix://"))
        except OSError as error:
            raise docker.errors.DockerException(error.strerror or str(error)) from error
