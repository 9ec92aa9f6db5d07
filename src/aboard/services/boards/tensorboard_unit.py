# SPDX-License-Identifier: Apache-2.0
"""Stock TensorBoard as a unit of an executor: its specification, its preview, and how it is found and ended."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from aboard.errors import AboardError, UnknownName
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_of, make_executor
from aboard.model.board_settings import ProcessSettings, parse_process_settings
from aboard.model.boards import BoardRecord, BoardUnit
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import Mount, Port, Resources, UnitHandle, UnitSpec
from aboard.run.secrets import MASK, Secrets
from aboard.services.boards.executors import BoardExecutors

PORT = "http"
UNSEEN = 72
"""The exit code of a process that does not see the folder of its board."""
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_LATER = timedelta(minutes=5)
_LOGS_INSIDE = "/aboard/logs"
_LOOPBACK, _ALL = "127.0.0.1", "0.0.0.0"  # noqa: S104 - of a container, or of a node that is reached over a network
_SEEN = f'test -r "$0" || {{ echo "This machine does not see $0, the folder of the board." >&2; exit {UNSEEN}; }}; '
_IN_POD = f'{_SEEN}exec "$@"'  # a claim may be mounted that is not the one the server copies to
_ELSEWHERE = (
    f'{_SEEN}exec env -i PATH="$PATH" HOME="$HOME" LANG=C.UTF-8 CUDA_VISIBLE_DEVICES= PYTHONUNBUFFERED=1 '
    'ABOARD_UNIT_ID="$ABOARD_UNIT_ID" "$@"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBoardLocation:
    """Where a TensorBoard runs, and over which folder."""

    executor: Executor
    logs: Path
    home: Path
    """A folder of this machine for what it likes to keep."""
    rules: BoardExecutors


def tensorboard_unit(board: BoardRecord, unit: str, place: TensorBoardLocation) -> UnitSpec:
    """The unit of a board. Its process gets nothing of the server's environment, which may hold secrets, and no GPU.

    The server ends it in time; where there is none any more, it ends a little later by itself.
    """
    settings = parse_process_settings(board.settings)
    is_contained = bool(settings.image)
    timeout = None if board.max_runtime is None else (board.max_runtime + _LATER).total_seconds()
    return UnitSpec(
        id=unit,
        name=f"board-{board.id[:8]}",
        command=_contained(board, settings, place) if is_contained else _process(board, settings, place),
        image=settings.image,
        mounts=_mounts(settings, place) if is_contained else (),
        environment={"CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1"} if is_contained else {},
        ports=(Port(name=PORT),),
        resources=Resources(memory=place.rules.memory),
        timeout=timeout,
        grace=5.0,
        serves=True,
        # Others see labels in Slurm and Kubernetes, and whoever knows the whole id knows the address of the process.
        labels={"aboard-board": board.id[:8]},
    )


def prefix_of(board_id: str) -> str:
    """The path below which the process answers: the same as in a browser, so that every address in a page is right."""
    return f"/boards/{board_id}"


def _process(board: BoardRecord, settings: ProcessSettings, place: TensorBoardLocation) -> tuple[str, ...]:
    here = place.rules.own_program
    if place.executor.is_here:
        kept = [f"{name}={os.environ[name]}" for name in _KEPT_VARIABLES if os.environ.get(name)]
        # By the last of these the process is found when its keeper was killed.
        own = (f"HOME={place.home}", "CUDA_VISIBLE_DEVICES=", "PYTHONUNBUFFERED=1", "ABOARD_UNIT_ID=$(ABOARD_UNIT_ID)")
        return ("/usr/bin/env", "-i", *kept, *own, *here, *_flags(board, settings, str(place.logs), _LOOPBACK))
    # Nodes of a cluster see the environment of the server as a rule; ports of other machines come through a tunnel.
    program = tuple(shlex.split(place.rules.program)) or (here if place.executor.shares_files else ("tensorboard",))
    flags = _flags(board, settings, str(place.logs), _ALL if place.executor.is_on_network else _LOOPBACK)
    return ("/bin/sh", "-c", _ELSEWHERE, str(place.logs), *program, *flags)


def _contained(board: BoardRecord, settings: ProcessSettings, place: TensorBoardLocation) -> tuple[str, ...]:
    logs = _LOGS_INSIDE if place.executor.takes_mounts else str(place.logs)
    program = tuple(shlex.split(place.rules.program)) or ("tensorboard",)
    looking = ("/bin/sh", "-c", _IN_POD, logs) if not place.executor.takes_mounts else ()
    return (*looking, *program, *_flags(board, settings, logs, _ALL))


def _mounts(settings: ProcessSettings, place: TensorBoardLocation) -> tuple[Mount, ...]:
    if not place.executor.takes_mounts:
        # Pods see it through a claim, and nothing else of that. A node makes the folder where the claim does not have
        # it, so it is the one above the copies: they are then missed.
        folder = str(place.logs.parent)
        return (Mount(source=folder, target=folder, read_only=True),)
    return (Mount(source=str(place.logs), target=_LOGS_INSIDE, read_only=True), *settings.mounts)


def _flags(board: BoardRecord, settings: ProcessSettings, logs: str, host: str) -> list[str]:
    port = Port(name=PORT)
    flags = [f"--logdir={logs}", f"--host={host}", f"--port=$({port.variable})", f"--path_prefix={prefix_of(board.id)}"]
    if not any(one.startswith("--reload_interval=") for one in settings.arguments):
        flags.append("--reload_interval=5")
    if not any(one.startswith("--window_title=") for one in settings.arguments):
        flags.append(f"--window_title={(board.description or board.name).replace('$(', '$ (')}")
    return [*flags, *settings.arguments]


def board_preview(board: BoardRecord, place: TensorBoardLocation) -> list[dict[str, Any]]:
    """The documents for one TensorBoard. The executor is asked nothing, and no unit is written down."""
    unit = tensorboard_unit(board, new_uid(), place)
    # The program is a line of the server's settings, in which anything may stand.
    command = Secrets.of(unit.environment, unit.command).mask_command(unit.command)
    documents = place.executor.preview([replace(unit, command=tuple(command))])
    return [_masked(document, place.executor.name, place.rules) for document in documents]


def _masked(document: dict[str, Any], executor: str, rules: BoardExecutors) -> dict[str, Any]:
    """Options can hold lines of shell and ways to other machines: those that are settled by the server stay there."""
    options = document.get("options")
    if not isinstance(options, Mapping):
        return document
    given = cast("Mapping[str, object]", options)
    shown = {name: MASK if rules.hides(executor, name) else value for name, value in given.items()}
    return {**document, "options": shown}


def executor_for(unit: BoardUnit) -> Executor:
    """The executor as it was when the unit was made."""
    return make_executor(unit.executor, unit.options)


def handle_of(unit: BoardUnit) -> UnitHandle | None:
    """The unit, if it was ever submitted: an executor finds by its id also what nobody could write down any more."""
    return executor_for(unit).find(unit.unit) if unit.executor else None


def end_unit(unit: BoardUnit, *, grace: float | None) -> bool:
    """Have a unit ended, whatever it does; whether nothing is left of it."""
    handle = handle_of(unit)
    if handle is None:
        return True
    executor = executor_of(handle)
    try:
        state = executor.status(handle).state
        if not state.is_ended or state is UnitState.LOST:  # of one that is lost, something may still run
            executor.stop(handle, grace=grace)
        if not state.is_ended:
            return False
        executor.forget(handle)
    except UnknownName:
        return True  # gone in the meantime
    except AboardError:
        return False
    return True
