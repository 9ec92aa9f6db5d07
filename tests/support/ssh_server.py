# SPDX-License-Identifier: Apache-2.0
"""A real sshd of the tests' own, on loopback and a free port, with a key of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

from support.object_servers import free_ports
from support.processes import needs, until
from support.what_was_real import first_line, stood_on


def why_no_sshd() -> str:
    if _sshd() is None:
        return "there is no sshd (Debian: openssh-server)"
    return "" if shutil.which("ssh-keygen") else "there is no ssh-keygen (Debian: openssh-client)"


@contextlib.contextmanager
def ssh_server(folder: Path) -> Generator[Path]:
    """The configuration of a client for whom the host `elsewhere` is this server."""
    needs(why_no_sshd())
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    (port,) = free_ports(1)
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    config = folder / "ssh_config"
    config.write_text(
        f"Host elsewhere\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {folder}/user\n"
        f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n  GlobalKnownHostsFile none\n"
        # One connection for many commands, as people with many of them have it.
        f"  ControlMaster auto\n  ControlPath {folder}/way\n  ControlPersist 20\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it puts itself for what it does unprivileged
    server = subprocess.Popen([str(_sshd()), "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL)
    try:
        until(lambda: _answers(port))
        stood_on("ssh", f"real: sshd on this machine, {first_line('ssh', '-V')}")
        yield config
    finally:
        server.terminate()
        server.wait()


def _sshd() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
