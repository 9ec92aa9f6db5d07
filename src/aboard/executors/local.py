# SPDX-License-Identifier: Apache-2.0
"""Units as processes of this machine, each beside a keeper that lives on when aboard is restarted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from aboard.config.home import machine_folder
from aboard.config.settings import load_settings
from aboard.errors import ExecutorUnavailable, UnknownName
from aboard.executors.executor import Executor, refuse_gpu_type, running_unit, unknown_unit
from aboard.executors.keeper import control
from aboard.executors.keeper.unit_folder import UnitFolder
from aboard.executors.keeper_client import (
    check_process,
    check_started,
    is_running,
    keeper_document,
    keeper_file,
    kept_status,
    port_number,
)
from aboard.model.names import check_uid
from aboard.model.units import Endpoint, ResourceUsage, UnitHandle, UnitSpec, UnitStatus

_START_SECONDS = 120


@dataclass(frozen=True)
class Local(Executor):
    """Processes of this machine. A unit inherits the environment of the process that submits it, without ABOARD_*.

    CPUs that a unit asks for are compared with what the machine has; memory is a limit, above which the unit is ended;
    GPUs are given to one unit at a time.
    """

    name: ClassVar[str] = "local"
    shares_files: ClassVar[bool] = True
    keeps_disk: ClassVar[bool] = True

    folder: str = ""
    """Where units keep their output and their record; a folder of a local disk. Default: `units` below ABOARD_HOME."""

    @property
    def is_here(self) -> bool:
        return True

    def submit(self, spec: UnitSpec) -> UnitHandle:
        check_process(self.name, spec)
        refuse_gpu_type(self.name, spec)
        root = self._root()
        keeper = keeper_file(root)
        answer = _run_keeper(
            [sys.executable, "-I", "-S", str(keeper), "start", str(root)], json.dumps(keeper_document(spec))
        )
        check_started(answer)
        return self._handle(spec.id)

    def find(self, unit: str) -> UnitHandle | None:
        check_uid(unit)
        folder = self._root() / unit
        return self._handle(unit) if folder.is_dir() and kept_status(control.look(folder)) else None

    def status(self, handle: UnitHandle) -> UnitStatus:
        status = kept_status(control.look(_folder(handle)))
        if status is None:
            raise unknown_unit(handle)
        return status

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        return control.output(_folder(handle), start, follow)

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        control.stop(_folder(handle), grace)

    def revive(self, handle: UnitHandle) -> bool:
        folder = _folder(handle)
        command = [sys.executable, "-I", "-S", str(keeper_file(folder.parent)), "again", str(folder)]
        return bool(_run_keeper(command, "").get("again"))

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        state = UnitFolder(_folder(handle)).read("state.json")
        return Endpoint(host="127.0.0.1", port=port_number(state, port)) if state else None

    def usage(self, handle: UnitHandle) -> ResourceUsage | None:
        told = control.usage(_folder(handle))
        return ResourceUsage(**told) if told else None

    def forget(self, handle: UnitHandle) -> None:
        try:
            folder = _folder(handle)
        except UnknownName:
            return
        if is_running(control.look(folder)):
            raise running_unit(handle)
        control.remove(folder)

    def folder_of(self, unit: str) -> Path:
        """Where a unit keeps its output and record, also before it was submitted."""
        return self._root() / check_uid(unit)

    def written_out(self) -> Self:
        return replace(self, folder=str(self._root()))

    def _root(self) -> Path:
        return Path(self.folder).absolute() if self.folder else machine_folder(load_settings().home) / "units"

    def _handle(self, unit: str) -> UnitHandle:
        return self.handle(unit, folder=str(self.folder_of(unit)))


def _folder(handle: UnitHandle) -> Path:
    folder = Path(handle.place.get("folder", ""))
    if folder.name != handle.unit or not folder.is_dir():
        raise unknown_unit(handle)
    return folder


def _run_keeper(command: list[str], document: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command, input=document.encode(), capture_output=True, timeout=_START_SECONDS, cwd="/", check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExecutorUnavailable(f"the unit's keeper cannot be started: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ExecutorUnavailable(f"the unit's keeper cannot be started: {said[-1] if said else done.returncode}")
    return json.loads(done.stdout)
