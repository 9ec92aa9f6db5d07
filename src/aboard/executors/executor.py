# SPDX-License-Identifier: Apache-2.0
"""The contract of executors, and what all kinds share.

An executor is a value: its fields are its options, and two with the same options are equal. It holds no unit and no
connection that a call could not make again, so another process can take up a handle that was stored as text with
`registry.executor_of`. Calls may come from several threads. Errors are those of `aboard.errors`:

- `InvalidValue`: an option or a unit that can never work here, such as an image for local processes;
- `UnitRefused`: what the unit asks for is not available: no such partition, image, namespace, permission, quota, port;
- `ExecutorUnavailable`: the machine, daemon or scheduler does not respond; the same call may succeed later;
- `UnknownName`: the unit of a handle does not exist any more.

A unit that was submitted but cannot be started (no such command) is no error: its status says so.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar, Protocol, Self, cast, runtime_checkable

from aboard.errors import Conflict, InvalidType, InvalidValue, UnknownName
from aboard.model.units import Endpoint, ResourceUsage, UnitHandle, UnitSpec, UnitStatus

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0


@dataclass(frozen=True)
class Executor(ABC):
    """Starts, watches and stops units somewhere."""

    name: ClassVar[str]
    """As a person writes it, and as it stands in handles."""

    # What jobs and boards may do with it; another package's executor says so in the same way.
    shares_files: ClassVar[bool] = False
    """Whether units see the folders of this machine under their names."""
    keeps_disk: ClassVar[bool] = False
    """Whether what a unit leaves on its disk is there after its end."""
    knows_paths: ClassVar[bool] = False
    """Whether units see every path that `check_path` lets pass, so that runs may be kept there."""
    takes_images: ClassVar[bool] = False
    """Whether a unit is a container of an image; otherwise it is a process of a machine."""
    takes_mounts: ClassVar[bool] = False
    """Whether folders of its machine can be shown in a unit."""
    brings_source: ClassVar[bool] = False
    """Whether it brings the source folder of this machine to the unit by itself."""
    restarts_failures: ClassVar[bool] = False
    """Whether it starts again what failed as well as what was killed, and counts both."""
    has_ports: ClassVar[bool] = True
    """Whether ports of a unit can be reached."""
    publishes_ports: ClassVar[bool] = False
    """Whether a port of a unit can appear under another number on the machine."""
    is_on_network: ClassVar[bool] = False
    """Whether ports are reached over a network that others are in."""
    open_options: ClassVar[frozenset[str]] = frozenset()
    """Options that everybody may set for boards of a server: they reach no further than a part of a cluster."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Refuse options that it does not have, and say which there are."""
        known = [field.name for field in fields(cls)]
        for option in options:
            if option not in known:
                hint = f"its options: {', '.join(known)}"
                raise InvalidType(f"the executor {cls.name} has no option {option!r}", hint=hint)
        return super().__new__(cls)

    @property
    def is_here(self) -> bool:
        """Whether units run on this machine."""
        return False

    @abstractmethod
    def submit(self, spec: UnitSpec) -> UnitHandle:
        """Have the unit started. Submitting the same unit again, also at the same time, gives the one that is there."""

    @abstractmethod
    def find(self, unit: str) -> UnitHandle | None:
        """The handle of the unit with this id, if it was ever submitted here; its submitter may have died."""

    @abstractmethod
    def status(self, handle: UnitHandle) -> UnitStatus:
        """How the unit is doing now."""

    @abstractmethod
    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        """What the unit printed, from byte `start` on, in pieces; when followed, until the unit has ended."""

    @abstractmethod
    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        """Ask for the end, and kill what still runs after `grace` seconds (the unit's own, if none). Does not wait.

        A unit that has ended stays as it is.
        """

    @abstractmethod
    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        """Where a port of the unit can be reached from here; none while that is not known."""

    @abstractmethod
    def forget(self, handle: UnitHandle) -> None:
        """Remove what an ended unit left: its output and its record. One that runs is refused with `Conflict`."""

    def revive(self, handle: UnitHandle) -> bool:
        """Start a unit again whose status says that it can go on; whether this was done, by this call.

        What an executor sees for itself it starts again by itself, as often as the unit allows. This is for what was
        killed together with all that could have seen it.
        """
        return False

    @property
    def is_reached_from_anywhere(self) -> bool:
        """Whether units that another machine submitted, with the same options, can be asked and ended from here."""
        return False

    def written_out(self) -> Self:
        """The same executor with what it takes from this process, as a variable or home folder, among its options."""
        return self

    def check_path(self, path: str) -> None:
        """Refuse a folder or URI that units of this executor cannot see, and name what can be used."""
        if not path:
            raise InvalidValue("an empty text is no path", hint="give a folder, or a URI such as gs://BUCKET/PATH")

    def preview(self, specs: Sequence[UnitSpec], *, at_once: int | None = None) -> list[dict[str, Any]]:
        """What would be made for these units, as documents; nothing is asked or changed."""
        return [{"executor": self.name, "options": self.options, "unit": asdict(spec)} for spec in specs]

    def usage(self, handle: UnitHandle) -> ResourceUsage | None:
        """What the unit takes of its machine now, where the executor can tell."""
        return None

    def wait(self, handle: UnitHandle, timeout: float | None = None) -> UnitStatus:
        """Its status when it has ended, or after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_WAIT
        while True:
            status = self.status(handle)
            if status.state.is_ended or (deadline is not None and time.monotonic() >= deadline):
                return status
            time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))
            pause = min(pause * 1.5, _LONGEST_WAIT)

    @property
    def options(self) -> dict[str, object]:
        """The options that differ from what holds when nobody says anything, as they stand in a handle."""
        told: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            default = field.default_factory() if field.default_factory is not MISSING else field.default
            if value != default:
                told[field.name] = value
        return told

    def __str__(self) -> str:
        """As a person writes it on a line: `slurm:partition=gpu`."""
        told: list[str] = []
        for name, value in self.options.items():
            entries = [str(value)]
            if isinstance(value, Mapping):
                entries = [f"{key}:{one}" for key, one in cast("Mapping[object, object]", value).items()]
            elif isinstance(value, (tuple, list)):
                entries = [str(one) for one in cast("Sequence[object]", value)]
            if any(mark in entry for mark in ",+" for entry in entries):
                hint = "name it in the settings of the server, or leave it out"
                raise InvalidValue(f"the option {name} of {self.name} cannot be written on a line", hint=hint)
            told.append(f"{name}={'+'.join(entries)}")
        return f"{self.name}:{','.join(told)}" if told else self.name

    def handle(self, unit: str, **place: str) -> UnitHandle:
        return UnitHandle(executor=self.name, unit=unit, options=self.options, place=place)


@runtime_checkable
class ArrayExecutor(Protocol):
    """An executor that takes many units as one: an array of Slurm, a Job with indexes of Kubernetes."""

    def submit_array(self, specs: Sequence[UnitSpec], *, at_once: int | None = None) -> list[UnitHandle]:
        """Have all of them started, at most `at_once` at a time; they differ in command and variables alone."""
        ...


def refuse_gpu_type(executor: str, spec: UnitSpec) -> None:
    """Refuse a unit that asks for GPUs of a kind, where they are given as they come."""
    if spec.resources.gpu_type:
        hint = "leave it out, or use slurm, kubernetes or vertex, which can choose"
        asked = f"GPUs of type {spec.resources.gpu_type}"
        raise InvalidValue(f"unit {spec.name} asks for {asked}, and {executor} cannot choose a type", hint=hint)


def refuse_parts(executor: str, spec: UnitSpec, hints: dict[str, str]) -> None:
    """Refuse a unit that has what this executor cannot give; `hints` has a next step for each such field."""
    for name, hint in hints.items():
        if getattr(spec, name):
            raise InvalidValue(f"unit {spec.name} has a value for {name!r}, which {executor} cannot use", hint=hint)


BEGUN_VARIABLE = "ABOARD_UNIT_BEGUN"
"""The variable by which `aboard run` knows when the time of its unit began to count."""
_VARIABLE_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def unit_environment(spec: UnitSpec, ports: Mapping[str, int]) -> dict[str, str]:
    """The unit's own variables, its id, and where its ports are."""
    told = {port.variable: str(ports[port.name]) for port in spec.ports}
    return {**spec.environment, "ABOARD_UNIT_ID": spec.id, **told}


def start_time_variable(spec: UnitSpec) -> dict[str, str]:
    """For a unit whose time counts from now on, over all its starts; not part of what tells it from others."""
    return {} if spec.timeout is None else {BEGUN_VARIABLE: f"{time.time():.3f}"}


def fill_in_command(spec: UnitSpec, environment: Mapping[str, str]) -> list[str]:
    """The command with values in place of `$(NAME)`; a name that is not there stays as it is."""
    return [_VARIABLE_REFERENCE.sub(lambda match: environment.get(match[1], match[0]), part) for part in spec.command]


def spec_digest(spec: UnitSpec) -> str:
    """By which the same unit is told from another one under the same id; it gives nothing of the environment away."""
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()[:40]


def unknown_unit(handle: UnitHandle) -> UnknownName:
    """For a handle whose unit has left no trace."""
    hint = "it may have been forgotten, or its folder removed"
    return UnknownName(f"{handle.executor} knows no unit {handle.unit}", hint=hint)


def running_unit(handle: UnitHandle) -> Conflict:
    """For a unit that is to be forgotten but lives."""
    return Conflict(f"unit {handle.unit} still runs, and cannot be forgotten", hint="stop it first")


def status_after_revival(executor: Executor, handle: UnitHandle, is_wanted: Callable[[], bool]) -> UnitStatus:
    """The status of a unit, restarted first if it was killed with its supervisor and `is_wanted` allows it."""
    status = executor.status(handle)
    if not (status.can_go_on and is_wanted() and executor.revive(handle)):
        return status
    if not is_wanted():  # somebody has cancelled it in just this moment
        executor.stop(handle)
    return executor.status(handle)
