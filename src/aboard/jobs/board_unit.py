# SPDX-License-Identifier: Apache-2.0
"""A board beside an experiment as a unit: `aboard view` as a process, stock `tensorboard` in a container."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.executors.executor import Executor
from aboard.executors.kubernetes_volumes import claim_of
from aboard.model.unit import UnitSpec
from aboard.model.unit_parts import Mount, Port

if TYPE_CHECKING:
    from aboard.executors.kubernetes import Kubernetes

DEFAULT_PORT = 6006
DEFAULT_IMAGE = "tensorflow/tensorflow"
_GCS = PurePosixPath("/gcs")

Arguments = Mapping[str, object]


def board_unit(
    executor: Executor, log_dir: str, port: int, timeout: float | None, args: Arguments, image: str
) -> tuple[Executor, UnitSpec]:
    """The unit, and the executor for it: a port that the executor publishes for all its units is the unit's own."""
    if not executor.has_ports:
        hint = "job.tensorboard() opens a board of the server; or use local, slurm, docker or kubernetes"
        raise InvalidValue(f"a board beside an experiment cannot be a job of {executor.name}", hint=hint)
    executor.check_path(log_dir)
    if not executor.takes_images:
        return executor, _process(executor, log_dir, port, timeout, args)
    own, published = _published(executor, port)
    given = {"logdir": log_dir, "port": port, "host": "0.0.0.0", "load_fast": "false", **args}  # noqa: S104 - of the container
    spec = UnitSpec(
        name="tensorboard",
        command=("tensorboard", *_flags(given)),
        image=image or DEFAULT_IMAGE,
        mounts=_mounts(executor, log_dir),
        ports=(Port(number=int(str(given["port"])), host=published),),
        timeout=timeout,
        serves=True,
    )
    return own, spec


def _process(executor: Executor, log_dir: str, port: int, timeout: float | None, args: Arguments) -> UnitSpec:
    folder = log_dir
    if "://" not in log_dir and executor.shares_files:
        folder = str(_made(log_dir))
    program = (sys.executable, "-m", "aboard") if executor.shares_files else ("aboard",)
    given = {"logdir": folder, "port": port, **{name: value for name, value in args.items() if name != "load_fast"}}
    if executor.is_on_network and not {"host", "bind_all"} & args.keys():
        # On an address of the network `aboard view` lets in only who knows its token.
        given["host"] = "0.0.0.0"  # noqa: S104 - of a node, which is not this machine
    return UnitSpec(
        name="tensorboard",
        command=(*program, "view", "--no-browser", *_flags(given)),
        ports=(Port(number=int(str(given["port"]))),),
        timeout=timeout,
        serves=True,
    )


def _published(executor: Executor, port: int) -> tuple[Executor, int | None]:
    """Where the board's port appears on the machine.

    `ports` of Docker go from the container to the machine. Scripts for other systems write {6006: port} and mean the
    machine's 6006: an entry whose second number alone is the board's port is read so.
    """
    ports: Mapping[int, int] = getattr(executor, "ports", {})
    inside = [key for key in ports if key == port]
    outside = [key for key, value in ports.items() if value == port]
    found = (inside or outside)[:1]
    if not found or not executor.publishes_ports:
        return executor, port if executor.publishes_ports else None
    rest = {key: value for key, value in ports.items() if key != found[0]}
    return replace(executor, ports=rest), ports[port] if inside else found[0]  # pyright: ignore[reportCallIssue]


def _mounts(executor: Executor, log_dir: str) -> tuple[Mount, ...]:
    """A folder of this machine is seen under its own name, unless the executor shows something there already."""
    if "://" in log_dir:
        return ()
    if not executor.takes_mounts:
        return _claim(executor, log_dir)
    inside = PurePosixPath(os.path.abspath(os.path.expanduser(log_dir)))  # noqa: PTH100,PTH111 - may be of the container
    volumes: Mapping[str, str] = getattr(executor, "volumes", {})
    shown = [PurePosixPath(target) for target in volumes.values()]
    shown += [_GCS] if getattr(executor, "mount_gcs_path", False) else []
    if any(inside.is_relative_to(place) for place in shown):
        return ()
    return (Mount(source=str(_made(log_dir)), target=str(inside), read_only=True),)


def _claim(executor: Executor, log_dir: str) -> tuple[Mount, ...]:
    """The claim with the folder, whole: a node would make the part that a training has not made yet, as its own."""
    claims: Mapping[str, str] = getattr(executor, "claims", {})
    claim = claim_of(cast("Kubernetes", executor), log_dir) if claims else None
    return () if claim is None else (Mount(source=claims[claim], target=claims[claim], read_only=True),)


def _made(log_dir: str) -> Path:
    """The folder, which a training may only make later."""
    folder = Path(log_dir).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"the log folder {folder} cannot be made: {error.strerror}") from error
    return folder


def _flags(given: Arguments) -> list[str]:
    return [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in given.items()]
