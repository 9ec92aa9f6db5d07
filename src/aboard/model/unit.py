# SPDX-License-Identifier: Apache-2.0
"""A unit: a process to be started somewhere, as a value that says nothing about where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.errors import InvalidValue
from aboard.model.uid import check_uid, new_uid
from aboard.model.unit_parts import Mount, Port, Resources

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
        """The port of that name."""
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
