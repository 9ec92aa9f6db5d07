# SPDX-License-Identifier: Apache-2.0
"""The door to the docker SDK, which has no types: what it hands out is looked at as it is."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import docker

Client: TypeAlias = Any
Container: TypeAlias = Any


def connect(address: str, *, timeout: float = 60.0) -> Client:
    """A client of the daemon at `address`; to be closed."""
    return cast("Any", docker).DockerClient(base_url=address, timeout=timeout)
