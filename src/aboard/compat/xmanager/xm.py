# SPDX-License-Identifier: Apache-2.0
"""XManager's `xm`: what is to run, as values. Nothing is built: a container is an image that is there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aboard.errors import InvalidType, InvalidValue
from aboard.executors.executor import Executor

Arguments = Mapping[str, Any] | Sequence[Any] | None
_GPU_TYPES = {
    "p4": "nvidia-tesla-p4",
    "t4": "nvidia-tesla-t4",
    "p100": "nvidia-tesla-p100",
    "v100": "nvidia-tesla-v100",
    "a100": "nvidia-tesla-a100",
    "a100_80gib": "nvidia-a100-80gb",
    "l4": "nvidia-l4",
    "h100": "nvidia-h100-80gb",
}


@dataclass(frozen=True)
class ModuleName:
    """`python -m` this."""

    module_name: str


@dataclass(frozen=True)
class CommandList:
    """Lines of shell; arguments follow the last one."""

    commands: Sequence[str]


@dataclass(frozen=True)
class PythonContainer:
    """Python code of a folder; in `base_image` where the executor has containers, which then needs aboard in it."""

    entrypoint: ModuleName | CommandList
    path: str | None = "."
    """None: the code is in the image."""
    base_image: str | None = None
    docker_instructions: Sequence[str] | None = None
    use_deep_module: bool = False

    def __post_init__(self) -> None:
        if self.docker_instructions or self.use_deep_module:
            hint = "build the image yourself and give it as base_image"
            raise InvalidValue("aboard builds no images, so docker_instructions cannot be followed", hint=hint)


@dataclass(frozen=True)
class Binary:
    path: str


@dataclass(frozen=True)
class Executable:
    """What can be run: words, or a line of shell, with the folder and image that go along."""

    words: tuple[str, ...] = ()
    line: str = ""
    source: str | None = None
    image: str = ""
    args: Arguments = None
    env_vars: Mapping[str, str] = field(default_factory=dict[str, str])

    def command(self, further: Sequence[str]) -> str | tuple[str, ...]:
        """The command with further words."""
        return f"{self.line} {shlex.join(further)}".strip() if self.line else (*self.words, *further)


@dataclass(frozen=True)
class Packageable:
    """A specification and the executor it is for."""

    executable_spec: PythonContainer | Binary
    executor_spec: object = None
    args: Arguments = None
    env_vars: Mapping[str, str] = field(default_factory=dict[str, str])


def package(packageables: Sequence[Packageable]) -> list[Executable]:
    """Executables in the order of what they are made from."""
    return [_executable(one) for one in packageables]


class JobRequirements:
    """What a job needs: `cpu`, `ram` or `memory` in bytes, and `gpu`, `local_gpu` or GPUs by their type, as `t4`."""

    def __init__(self, **resources: float) -> None:
        known = ("cpu", "ram", "memory", "gpu", "local_gpu", *_GPU_TYPES)
        for name in resources:
            if name.lower() not in known:
                hint = f"aboard knows {', '.join(known)}; other names belong to clouds"
                raise InvalidType(f"a job cannot require {name!r}", hint=hint)
        given = {name.lower(): value for name, value in resources.items()}
        self.cpus: float | None = given.get("cpu")
        memory = given.get("ram", given.get("memory"))
        self.memory = None if memory is None else int(memory)
        typed = [name for name in given if name in _GPU_TYPES]
        if len(typed) > 1:
            raise InvalidValue(f"a job cannot have {' and '.join(typed)} at once", hint="ask for one type of GPU")
        self.gpu_type = _GPU_TYPES[typed[0]] if typed else ""
        self.gpus = int(given[typed[0]] if typed else given.get("gpu", given.get("local_gpu", 0)))


class JobExecutor(Protocol):
    """What an executor of XManager is to aboard: `Local`, `Kubernetes`, `Vertex` or `Slurm`."""

    @property
    def requirements(self) -> JobRequirements | None: ...

    @property
    def has_containers(self) -> bool:
        """Whether a board beside an experiment is a container."""
        ...

    def for_images(self) -> Executor:
        """The executor of jobs with an image."""
        ...

    def for_processes(self) -> Executor:
        """The executor of jobs without one."""
        ...


@dataclass(frozen=True)
class Job:
    """An executable with arguments, and where it runs."""

    executable: Executable
    executor: JobExecutor | None = None
    name: str | None = None
    args: Arguments = None
    env_vars: Mapping[str, str] = field(default_factory=dict[str, str])


def words_of(args: Arguments) -> list[str]:
    """Arguments as words: `{"lr": 0.1}` is `--lr=0.1`, true is `--name` and false `--noname`."""
    if args is None:
        return []
    if not isinstance(args, Mapping):
        return [str(one) for one in args]
    return [_flag(str(name), value) for name, value in args.items()]


def _flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no{name}"
    return f"--{name}={value}"


def _executable(one: Packageable) -> Executable:
    spec = one.executable_spec
    if isinstance(spec, Binary):
        return Executable(words=(spec.path,), args=one.args, env_vars=one.env_vars)
    if not isinstance(spec, PythonContainer):  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = "use PythonContainer or Binary: a run must know its command"
        raise InvalidType(f"{type(spec).__name__} cannot be packaged", hint=hint)
    entry = spec.entrypoint
    words = ("python", "-m", entry.module_name) if isinstance(entry, ModuleName) else ()
    line = "" if isinstance(entry, ModuleName) else "; ".join(entry.commands)
    return Executable(words, line, spec.path, spec.base_image or "", one.args, one.env_vars)
