# SPDX-License-Identifier: Apache-2.0
"""Units: the specification of a process that an executor starts, its handle, and its status.

A specification says nothing about where the process runs. A handle is a text with which another process finds the
unit again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

from aboard.errors import InvalidValue, NewerFormat
from aboard.model.documents import DocumentFields
from aboard.model.names import check_uid, new_uid
from aboard.model.states import UnitState

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


_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_LONGEST_SECONDS = 366 * 86400
_MOST_RESTARTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSpec:
    """What is to run. In `command`, `$(NAME)` stands for a variable of the unit's environment.

    The id is chosen before anything is submitted, so that a unit can be found again whose handle nobody has written
    down. Each port is told to the process as ABOARD_PORT_<NAME>.
    """

    name: str
    command: tuple[str, ...] = ()
    """A program and its arguments; with an image it may be empty, for what the image does by itself."""
    image: str = ""
    source: str = ""
    """The folder in which the command runs."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # may hold secrets
    mounts: tuple[Mount, ...] = ()
    ports: tuple[Port, ...] = ()
    resources: Resources = field(default_factory=Resources)
    service_account: str = ""
    timeout: float | None = None
    """Seconds after which the unit is ended; none: it runs as long as it likes."""
    grace: float = 10.0
    """Seconds between asking a unit to end and killing it."""
    serves: bool = False
    """Whether it is there to be connected to, as a board is: its end is then not the aim."""
    restarts: int = 0
    """How often it is started again when something killed it that nobody of aboard sent. Not after its timeout."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    id: str = field(default_factory=new_uid)

    def __post_init__(self) -> None:
        check_uid(self.id)
        check_unit_name(self.name)
        if not self.command and not self.image:
            raise InvalidValue(f"unit {self.name} has neither a command nor an image", hint="give one of them")
        for part in self.command:
            if not isinstance(part, str) or "\0" in part:
                raise InvalidValue(f"{part!r} cannot stand in a command", hint="a command is a list of texts")
        if self.command and not self.command[0]:
            raise InvalidValue(f"the command of unit {self.name} begins with an empty text")
        self._check_environment()
        self._check_labels()
        self._check_times()
        names = [port.name for port in self.ports]
        if len(set(names)) != len(names):
            raise InvalidValue(f"unit {self.name} has two ports of one name", hint=f"its ports: {', '.join(names)}")

    def port(self, name: str) -> Port:
        for port in self.ports:
            if port.name == name:
                return port
        known = ", ".join(port.name for port in self.ports) or "none"
        raise InvalidValue(f"unit {self.name} has no port {name!r}", hint=f"its ports: {known}")

    def _check_environment(self) -> None:
        for name, value in self.environment.items():
            if not isinstance(name, str) or _VARIABLE.fullmatch(name) is None:
                hint = "use letters, digits and '_', and do not begin with a digit"
                raise InvalidValue(f"{name!r} is not a name for a variable", hint=hint)
            if not isinstance(value, str) or "\0" in value:
                # The value itself may be a secret.
                raise InvalidValue(f"the variable {name} has a value that is not a text", hint="give it as a text")

    def _check_labels(self) -> None:
        for name, value in self.labels.items():
            if _LABEL.fullmatch(name) is None or (value and _LABEL.fullmatch(value) is None):
                hint = "use up to 63 letters, digits, '_', '.' and '-', with a letter or digit at both ends"
                raise InvalidValue(f"{name}={value!r} is not a label", hint=hint)

    def _check_times(self) -> None:
        if self.timeout is not None and not 0 < self.timeout <= _LONGEST_SECONDS:
            hint = "give a number of seconds above 0, at most a year, or none"
            raise InvalidValue(f"a timeout of {self.timeout} s is not possible", hint=hint)
        if not 0 <= self.grace <= 3600:
            raise InvalidValue(f"a grace of {self.grace} s is not possible", hint="give 0 to 3600 seconds")
        if not 0 <= self.restarts <= _MOST_RESTARTS:
            hint = f"give a number from 0 to {_MOST_RESTARTS}"
            raise InvalidValue(f"a unit cannot be started again {self.restarts} times", hint=hint)


def check_unit_name(name: object) -> str:
    """`name` itself, if a unit may be called so; it stands in names of jobs, containers and pods."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        hint = "use 1 to 40 small letters, digits and '-', with a letter or digit at both ends"
        raise InvalidValue(f"{name!r} is not a name for a unit", hint=hint)
    return name


_FORMAT, _VERSION = "aboard-unit", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitHandle:
    """`options` are those with which the executor was made, `place` is what it needs to find the unit; no secrets."""

    executor: str
    unit: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    place: Mapping[str, str] = field(default_factory=dict[str, str])

    def text(self) -> str:
        """One line of JSON."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "executor": self.executor,
            "unit": self.unit,
            "options": dict(self.options),
            "place": dict(self.place),
        }
        return json.dumps(document, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The handle that was written as this text."""
        try:
            document = json.loads(text)
        except ValueError:
            raise InvalidValue(f"{text[:80]!r} is not the text of a handle") from None
        fields = DocumentFields(document, "the handle")
        if fields.text("format") != _FORMAT:
            raise InvalidValue(f"{text[:80]!r} is not the text of a handle")
        version = fields.required_integer("version")
        if version != _VERSION:
            raise NewerFormat(f"the handle has version {version}; this aboard knows {_VERSION}", hint="upgrade aboard")
        return cls(
            executor=fields.required_text("executor"),
            unit=check_uid(fields.required_text("unit")),
            options=fields.mapping("options"),
            place={name: str(value) for name, value in fields.mapping("place").items()},
        )


class EndReason(StrEnum):
    COMPLETED = "completed"  # by itself, with exit code 0
    STOPPED = "stopped"  # somebody asked for it
    EXITED = "exited"  # by itself, with another exit code or by a signal
    TIMEOUT = "timeout"  # its time was over
    OUT_OF_MEMORY = "out_of_memory"
    NOT_STARTED = "not_started"  # no such command, image, folder …
    PREEMPTED = "preempted"  # its place was given to another
    NODE_FAILED = "node_failed"  # its machine died
    LOST = "lost"  # it is gone, and nothing tells how
    FORGOTTEN = "forgotten"  # its executor knows nothing of it any more, however it ended


_AS_MEANT = frozenset({EndReason.COMPLETED, EndReason.STOPPED})


def state_after(reason: EndReason) -> UnitState:
    """The state of a unit that ended so: stopped when this was meant, lost when nobody can say, otherwise failed."""
    if reason in (EndReason.LOST, EndReason.FORGOTTEN):
        return UnitState.LOST
    return UnitState.STOPPED if reason in _AS_MEANT else UnitState.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUsage:
    """What a unit uses of its machine now, with all its processes."""

    processes: int
    memory: int
    """Bytes that are resident."""
    cpu_seconds: float
    """Of the processes that live now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitStatus:
    """A unit at one moment. `message` is for people, and says what to look at when something went wrong."""

    state: UnitState
    reason: EndReason | None = None
    message: str = ""
    exit_code: int | None = None
    """As a shell tells it: 128 and more for a signal."""
    started: datetime | None = None
    ended: datetime | None = None
    host: str = ""
    """The machine it runs on, where that is known."""
    attempt: int = 1
    """Counts the starts of a unit that its executor starts again."""
    can_go_on: bool = False
    """Whether it was killed together with all that watched it, and may be started again: `Executor.revive`."""

    @property
    def has_succeeded(self) -> bool:
        return self.reason is EndReason.COMPLETED


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a port of a unit can be reached from here."""

    host: str
    port: int

    @property
    def address(self) -> str:
        """As it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
