# SPDX-License-Identifier: Apache-2.0
"""A login on another machine through the `ssh` program, which never asks anything."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from aboard.errors import ExecutorUnavailable, UnitRefused
from aboard.model.unit_parts import Port

_NO_CONNECTION = 255
_ANSWER_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
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

    def started(self, remote: str) -> subprocess.Popen[bytes]:
        """A command of that machine, whose output is read here."""
        return subprocess.Popen(
            [*self.command(), remote], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def told(self, remote: str, sent: bytes = b"") -> bytes:
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
