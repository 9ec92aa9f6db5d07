# SPDX-License-Identifier: Apache-2.0
"""The parts of a unit: its ports, its mounts and what it needs of a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aboard.errors import InvalidValue

_PORT_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,13}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port that the process listens on. `host` is where a container's port appears on its machine."""

    name: str = "http"
    number: int = 0
    """As the process sees it; 0: any that is free, told as ABOARD_PORT_<NAME>."""
    host: int | None = None
    """Only for containers; none: any that is free."""

    def __post_init__(self) -> None:
        if _PORT_NAME.fullmatch(self.name) is None:
            hint = "use 1 to 15 small letters, digits and '-', beginning with a letter"
            raise InvalidValue(f"{self.name!r} is not a name for a port", hint=hint)
        for number in (self.number, self.host):
            if number is not None and not 0 <= number <= 65535:
                raise InvalidValue(f"{number} is not a port", hint="ports are 1 to 65535, or 0 for any that is free")

    @property
    def variable(self) -> str:
        """The variable that tells the process its number."""
        return f"ABOARD_PORT_{self.name.upper().replace('-', '_')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder or file of the machine as the unit sees it."""

    source: str
    target: str
    read_only: bool = False

    def __post_init__(self) -> None:
        if not self.source:
            raise InvalidValue(f"the mount at {self.target!r} has no source")
        if not self.target.startswith("/"):
            hint = "say where the unit sees it, for example /data"
            raise InvalidValue(f"{self.target!r} is not an absolute path", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a unit needs of a machine; none and 0: whatever the executor gives."""

    cpus: float | None = None
    memory: int | None = None
    """Bytes."""
    gpus: int = 0
    gpu_type: str = ""

    def __post_init__(self) -> None:
        if self.cpus is not None and not self.cpus > 0:
            raise InvalidValue(f"{self.cpus} CPUs cannot be given", hint="give a number above 0, or none")
        if self.memory is not None and self.memory < 1 << 20:
            raise InvalidValue(f"{self.memory} bytes of memory cannot be given", hint="give at least 1 MiB, or none")
        if self.gpus < 0:
            raise InvalidValue(f"{self.gpus} GPUs cannot be given", hint="give 0 or more")
        if self.gpu_type and not self.gpus:
            raise InvalidValue(f"GPUs of type {self.gpu_type} are asked for, but 0 of them", hint="say how many")
