# SPDX-License-Identifier: Apache-2.0
"""Executors by name: aboard's own, and those that other packages add as entry points of `aboard.executors`."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from aboard.errors import InvalidType, MissingPackage, UnknownName
from aboard.executors.executor import Executor
from aboard.model.unit_handle import UnitHandle

GROUP = "aboard.executors"
_OWN = {
    "docker": "aboard.executors.docker:Docker",
    "kubernetes": "aboard.executors.kubernetes:Kubernetes",
    "local": "aboard.executors.local:Local",
    "slurm": "aboard.executors.slurm:Slurm",
    "ssh": "aboard.executors.ssh:Ssh",
    "vertex": "aboard.executors.vertex:Vertex",
}
_OWN_WITHOUT_PORTS = frozenset({"vertex"})  # said here too: a list of names must not load every client


def executor_names() -> list[str]:
    """All names that can be used here."""
    return sorted({*_OWN, *(point.name for point in entry_points(group=GROUP))})


def executor_class(name: str) -> type[Executor]:
    """The class behind a name. aboard's own names cannot be taken by others."""
    if name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _loaded(point)
    names = executor_names()
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UnknownName(f"there is no executor {name!r}", hint=f"{hint}executors are: {', '.join(names)}")


def has_ports(name: str) -> bool:
    """Whether units of that executor can be reached; one that cannot be loaded says why when it is used."""
    if name in _OWN:
        return name not in _OWN_WITHOUT_PORTS
    try:
        return executor_class(name).has_ports
    except (MissingPackage, InvalidType):
        return True


def make_executor(name: str, options: Mapping[str, object] | None = None) -> Executor:
    """The executor of that name with these options; an option that it lacks is an error that lists its own."""
    return executor_class(name)(**(options or {}))


def executor_of(handle: UnitHandle) -> Executor:
    """The executor that a handle belongs to, made as it was when the unit was submitted."""
    return make_executor(handle.executor, handle.options)


def _loaded(point: EntryPoint) -> type[Executor]:
    try:
        found = point.load()
    except ImportError as error:
        hint = f"it comes from {point.value}; install what it needs, or remove the package"
        raise MissingPackage(f"the executor {point.name} cannot be loaded: {error}", hint=hint) from error
    if not (isinstance(found, type) and issubclass(found, Executor)):
        hint = "an executor is a class that inherits from aboard.executors.Executor"
        raise InvalidType(f"the executor {point.name} is {point.value}, which is not one", hint=hint)
    return found
