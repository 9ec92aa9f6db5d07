# SPDX-License-Identifier: Apache-2.0
"""Units as processes of a machine that one can log in to: the same keepers as here, spoken to through `ssh`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from aboard.errors import InvalidValue, UnitRefused, UnknownName
from aboard.executors.executor import Executor, refuse_gpu_type
from aboard.executors.keeper_file import keeper_bytes, keeper_name
from aboard.executors.kept_units import check_started, is_running, keeper_document, kept_status
from aboard.executors.local import check_process, port_in, running_unit, unknown_unit
from aboard.executors.login import Login
from aboard.executors.tunnel import Tunnel
from aboard.model.uid import check_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_status import Endpoint, UnitStatus, Usage

_CHUNK = 64 << 10
_HOME = "~/"


@dataclass(frozen=True)
class Ssh(Executor):
    """Processes of another machine, which needs Python 3.8 and nothing of aboard. `source` is a folder there.

    Who one is, and how the machine is reached, is what `ssh HOST` does unasked: keys, an agent, ~/.ssh/config.
    Ports are reached through a tunnel, so the process may listen on the loopback address of its machine.
    """

    name: ClassVar[str] = "ssh"
    keeps_disk: ClassVar[bool] = True

    host: str = ""
    user: str = ""
    port: int | None = None
    identity: str = ""
    """A file with a private key."""
    config: str = ""
    """A file in place of ~/.ssh/config."""
    folder: str = "~/.aboard/units"
    """Where units keep their output and their record on that machine; on a local disk."""
    python: str = "python3"
    connect_timeout: int = 10

    def __post_init__(self) -> None:
        if not self.host or self.host.startswith("-"):
            raise InvalidValue(f"{self.host!r} is not a machine to log in to", hint="give host= as for ssh")
        if not self.folder.startswith(("/", _HOME)):
            raise InvalidValue(f"{self.folder!r} is not a folder there", hint="begin it with / or ~/")

    def submit(self, spec: UnitSpec) -> UnitHandle:
        check_process(self.name, spec)
        refuse_gpu_type(self.name, spec)
        if spec.source and not spec.source.startswith("/"):
            raise InvalidValue(f"{spec.source!r} is not an absolute path", hint=f"name a folder of {self.host}")
        self._install()
        check_started(self._asked("start", self.folder, document=json.dumps(keeper_document(spec))))
        return self._handle(spec.id)

    def find(self, unit: str) -> UnitHandle | None:
        handle = self._handle(check_uid(unit))
        try:
            return handle if kept_status(self._known("look", handle)) else None
        except (UnknownName, UnitRefused):  # or no keeper was ever installed there
            return None

    def status(self, handle: UnitHandle) -> UnitStatus:
        status = kept_status(self._known("look", handle))
        if status is None:
            raise unknown_unit(handle)
        if status.state.is_ended:
            self._tunnel(handle.unit).close()
        return status

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        command = self._command("output", _place(handle), str(start), "1" if follow else "0", keeper=_keeper(handle))
        process = self._login().started(command)
        assert process.stdout is not None
        try:
            while piece := os.read(process.stdout.fileno(), _CHUNK):
                yield piece
            self._login().check(process.wait(), b"")
        finally:
            process.kill()
            process.stdout.close()
            process.wait()

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        told = [] if grace is None else [str(grace)]
        self._known("stop", handle, *told)

    def revive(self, handle: UnitHandle) -> bool:
        return bool(self._known("again", handle).get("again"))

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        state = self._known("look", handle)["state"]
        if state is None or "end" in state:
            return None
        port_in(state, port)
        return self._tunnel(handle.unit).endpoint(port, state["ports"])

    def usage(self, handle: UnitHandle) -> Usage | None:
        told = self._known("usage", handle)
        return Usage(**told) if told else None

    def forget(self, handle: UnitHandle) -> None:
        try:
            if is_running(self._known("look", handle)):
                raise running_unit(handle)
            self._known("remove", handle)
        except UnknownName:
            pass
        self._tunnel(handle.unit).close()

    @property
    def is_reached_from_anywhere(self) -> bool:
        return True

    def _login(self) -> Login:
        return Login(
            host=self.host,
            user=self.user,
            port=self.port,
            identity=self.identity,
            config=self.config,
            connect_timeout=self.connect_timeout,
        )

    def _tunnel(self, unit: str) -> Tunnel:
        return Tunnel(unit, self._login().forwarding)

    def _handle(self, unit: str) -> UnitHandle:
        return self.handle(unit, folder=f"{self.folder}/{unit}", keeper=f"{self.folder}/{keeper_name()}")

    def _known(self, word: str, handle: UnitHandle, *arguments: str) -> dict[str, Any]:
        """The answer about a unit that is there."""
        answer = self._asked(word, _place(handle), *arguments, keeper=_keeper(handle))
        if "unknown" in answer:
            raise unknown_unit(handle)
        return answer

    def _install(self) -> None:
        """Put the keeper there, unless it is; whole or not at all."""
        folder, keeper = _shell_path(self.folder), _shell_path(f"{self.folder}/{keeper_name()}")
        look = f"test -f {keeper} && echo there || echo absent"
        if self._login().told(look).strip() == b"there":
            return
        put = f"mkdir -p -m 700 {folder} && cat > {keeper}.$$ && mv {keeper}.$$ {keeper}"
        self._login().told(put, keeper_bytes())

    def _command(self, word: str, *arguments: str, keeper: str = "") -> str:
        file = _shell_path(keeper or f"{self.folder}/{keeper_name()}")
        return f"{shlex.quote(self.python)} -I -S {file} {shlex.join([word, *arguments])}"

    def _asked(self, word: str, *arguments: str, keeper: str = "", document: str = "") -> dict[str, Any]:
        return json.loads(self._login().told(self._command(word, *arguments, keeper=keeper), document.encode()))


def _place(handle: UnitHandle) -> str:
    return handle.place["folder"]


def _keeper(handle: UnitHandle) -> str:
    """The file that started the unit, also when this aboard would use a newer one."""
    return handle.place["keeper"]


def _shell_path(path: str) -> str:
    """For the shell of the other side, which knows where home is."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith(_HOME) else shlex.quote(path)
