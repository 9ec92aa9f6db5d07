# SPDX-License-Identifier: Apache-2.0
"""XManager's `DockerOptions`, and what they are to aboard's Docker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aboard.errors import InvalidValue

if TYPE_CHECKING:
    from aboard.executors.docker import Docker

_GCLOUD = "/root/.config/gcloud"


@dataclass(frozen=True)
class DockerOptions:
    """`ports` go from the container to the machine, `volumes` from the machine to the container.

    As there, credentials of gcloud and the folder ~/gcs are shown to containers when they are there.
    """

    ports: Mapping[int, int] | None = None
    volumes: Mapping[str, str] | None = None
    mount_gcs_path: bool = True
    interactive: bool = False
    address: str = field(default="", kw_only=True)
    """Of the daemon; aboard's own addition."""

    def __post_init__(self) -> None:
        if self.interactive:
            hint = "leave it out; `docker exec -it` opens a shell in a container that runs"
            raise InvalidValue("interactive containers are not possible: jobs outlive their launcher", hint=hint)

    def executor(self) -> Docker:
        """The same for aboard."""
        from aboard.executors.docker import Docker

        volumes = {os.path.expanduser(source): target for source, target in (self.volumes or {}).items()}  # noqa: PTH111 - of the daemon's machine
        has_gcloud = Path("~/.config/gcloud").expanduser().is_dir() and _GCLOUD not in volumes.values()
        return Docker(
            address=self.address,
            ports=dict(self.ports or {}),
            volumes=volumes,
            credentials=("gcloud",) if has_gcloud else (),
            mount_gcs_path=self.mount_gcs_path and Path("~/gcs").expanduser().is_dir(),
        )
