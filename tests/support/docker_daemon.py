# SPDX-License-Identifier: Apache-2.0
"""A real Docker daemon of the tests' own, in private folders, with an image made from files of this machine."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Generator
from pathlib import Path

import docker

from support.processes import needs, until
from support.what_was_real import stood_on

IMAGE = "aboard-test:1"


def why_no_docker() -> str:
    if os.geteuid() != 0:
        return "dockerd wants root"
    return "" if shutil.which("dockerd") else "there is no dockerd (Debian: docker.io)"


class DockerDaemon:
    """A daemon that can go away for a while; with `keeps_containers` they then live on."""

    def __init__(self, folder: Path, *, keeps_containers: bool) -> None:
        self._log = folder / "log"
        self.address = f"unix://{folder}/socket"
        command = ["dockerd", "--data-root", folder / "data", "--exec-root", folder / "exec", "-H", self.address]
        command += ["--pidfile", folder / "pid", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs"]
        command += ["--bip", "172.31.250.1/24", *(["--live-restore"] if keeps_containers else [])]
        self._command = [*map(str, command)]
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        until(lambda: _answers(self.address, self._process, self._log))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextlib.contextmanager
def docker_machine(*, keeps_containers: bool = False) -> Generator[DockerDaemon]:
    """A daemon with an image. It holds links only: its programs are those of /usr, which units mount."""
    needs(why_no_docker())
    folder = Path(tempfile.mkdtemp(prefix="aboard-docker-", dir="/tmp"))  # the path of a socket must be short
    daemon = None
    try:
        daemon = DockerDaemon(folder, keeps_containers=keeps_containers)
        with contextlib.closing(docker.DockerClient(base_url=daemon.address)) as client:
            version = client.version()["Version"]
            stood_on("docker", f"real: dockerd {version}; its image is made of this machine's files")
            client.api.import_image_from_data(_links(), repository=IMAGE.partition(":")[0], tag=IMAGE.partition(":")[2])
        yield daemon
    finally:
        if daemon is not None:
            daemon.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def docker_daemon() -> Generator[str]:
    """The address of such a daemon."""
    with docker_machine() as daemon:
        yield daemon.address


def _links() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("usr", "etc", "tmp", "root", "sbin", "data"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in ("bin", "lib", "lib64"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(entry)
    return packed.getvalue()


def _answers(address: str, daemon: subprocess.Popen[bytes], log: Path) -> bool:
    assert daemon.poll() is None, f"dockerd ended: {log.read_text()[-2000:]}"
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(address.removeprefix("unix://")) == 0
