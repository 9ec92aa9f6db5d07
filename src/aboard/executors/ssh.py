# SPDX-License-Identifier: Apache-2.0
"""Units as processes of a machine reached with the `ssh` program: the same keepers as on this machine.

`ssh` runs in batch mode and never asks a question: keys, an agent or ~/.ssh/config must let it in.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from aboard.errors import ExecutorUnavailable, InvalidValue, UnitRefused, UnknownName
from aboard.executors.executor import Executor, refuse_gpu_type, running_unit, unknown_unit
from aboard.executors.keeper_client import (
    check_process,
    check_started,
    is_running,
    keeper_bytes,
    keeper_document,
    keeper_name,
    kept_status,
    port_number,
)
from aboard.executors.tunnel import Tunnel
from aboard.model.names import check_uid
from aboard.model.units import Endpoint, Port, ResourceUsage, UnitHandle, UnitSpec, UnitStatus

_NO_CONNECTION = 255
_ANSWER_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SshConnection:
    """How one gets there."""

    host: str
    user: str = ""
    port: int | None = None
    identity: str = ""
    config: str = ""
    connect_timeout: int = 10

    def command(self, *options: str) -> list[str]:
        """`ssh` with all that leads to the machine; what is to run there follows."""
        program = shutil.which("ssh")
        if program is None:
            raise ExecutorUnavailable("there is no program ssh here", hint="install OpenSSH (Debian: openssh-client)")
        command = [program, "-o", "BatchMode=yes", "-o", f"ConnectTimeout={self.connect_timeout}"]
        command += ["-o", "ServerAliveInterval=15", *options]
        if self.config:
            command += ["-F", self.config]
        if self.identity:
            command += ["-i", self.identity]
        if self.port is not None:
            command += ["-p", str(self.port)]
        if self.user:
            command += ["-l", self.user]
        return [*command, "--", self.host]

    def forwarding(self, ports: Mapping[str, int]) -> list[str]:
        """The command that brings ports of that machine's loopback address here."""
        forwards: list[str] = []
        for name, number in ports.items():
            forwards += ["-L", f"127.0.0.1:$({Port(name=name).variable}):127.0.0.1:{number}"]
        # A connection of its own: in one that is shared the tunnel would outlive its process.
        own = ("-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ExitOnForwardFailure=yes")
        return self.command("-N", *own, *forwards)

    def start(self, remote: str) -> subprocess.Popen[bytes]:
        """A command of that machine, whose output is read here."""
        return subprocess.Popen(
            [*self.command(), remote], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def run(self, remote: str, sent: bytes = b"") -> bytes:
        """What a command of that machine prints; it is given `sent` to read."""
        try:
            done = subprocess.run(
                [*self.command(), remote], input=sent, capture_output=True, timeout=_ANSWER_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ExecutorUnavailable(f"{self.host} did not answer within {_ANSWER_SECONDS} s") from error
        self.check(done.returncode, done.stderr)
        return done.stdout

    def check(self, code: int, said: bytes) -> None:
        """Raise what an exit code means."""
        if code == 0:
            return
        lines = said.decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else f"exit code {code}"
        if code == _NO_CONNECTION:
            hint = f"`ssh {self.host} true` must work without a question"
            raise ExecutorUnavailable(f"{self.host} cannot be logged in to: {last}", hint=hint)
        raise UnitRefused(f"{self.host} refused: {last}", hint="it needs Python 3.8 or later; name it with python=")


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
        check_started(self._ask_keeper("start", self.folder, document=json.dumps(keeper_document(spec))))
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
        process = self._connection().start(command)
        assert process.stdout is not None
        try:
            while piece := os.read(process.stdout.fileno(), _CHUNK):
                yield piece
            self._connection().check(process.wait(), b"")
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
        port_number(state, port)
        return self._tunnel(handle.unit).endpoint(port, state["ports"])

    def usage(self, handle: UnitHandle) -> ResourceUsage | None:
        told = self._known("usage", handle)
        return ResourceUsage(**told) if told else None

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

    def _connection(self) -> SshConnection:
        return SshConnection(
            host=self.host,
            user=self.user,
            port=self.port,
            identity=self.identity,
            config=self.config,
            connect_timeout=self.connect_timeout,
        )

    def _tunnel(self, unit: str) -> Tunnel:
        return Tunnel(unit, self._connection().forwarding)

    def _handle(self, unit: str) -> UnitHandle:
        return self.handle(unit, folder=f"{self.folder}/{unit}", keeper=f"{self.folder}/{keeper_name()}")

    def _known(self, word: str, handle: UnitHandle, *arguments: str) -> dict[str, Any]:
        """The answer about a unit that is there."""
        answer = self._ask_keeper(word, _place(handle), *arguments, keeper=_keeper(handle))
        if "unknown" in answer:
            raise unknown_unit(handle)
        return answer

    def _install(self) -> None:
        """Put the keeper there, unless it is; whole or not at all."""
        folder, keeper = _shell_path(self.folder), _shell_path(f"{self.folder}/{keeper_name()}")
        look = f"test -f {keeper} && echo there || echo absent"
        if self._connection().run(look).strip() == b"there":
            return
        put = f"mkdir -p -m 700 {folder} && cat > {keeper}.$$ && mv {keeper}.$$ {keeper}"
        self._connection().run(put, keeper_bytes())

    def _command(self, word: str, *arguments: str, keeper: str = "") -> str:
        file = _shell_path(keeper or f"{self.folder}/{keeper_name()}")
        return f"{shlex.quote(self.python)} -I -S {file} {shlex.join([word, *arguments])}"

    def _ask_keeper(self, word: str, *arguments: str, keeper: str = "", document: str = "") -> dict[str, Any]:
        return json.loads(self._connection().run(self._command(word, *arguments, keeper=keeper), document.encode()))


def _place(handle: UnitHandle) -> str:
    return handle.place["folder"]


def _keeper(handle: UnitHandle) -> str:
    """The file that started the unit, also when this aboard would use a newer one."""
    return handle.place["keeper"]


def _shell_path(path: str) -> str:
    """For the shell of the other side, which knows where home is."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith(_HOME) else shlex.quote(path)
