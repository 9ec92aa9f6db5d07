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

IMAGE = "aboard-test:1"


def why_no_docker() -> str:
    if os.geteuid() != 0:
        return "dockerd wants root"
    return "" if shutil.which("dockerd") else "there is no dockerd (Debian: docker.io)"


@contextlib.contextmanager
def docker_daemon() -> Generator[str]:
    """Its address. The image holds links only: its programs are those of /usr, which units mount."""
    needs(why_no_docker())
    folder = Path(tempfile.mkdtemp(prefix="aboard-docker-", dir="/tmp"))  # the path of a socket must be short
    address = f"unix://{folder}/socket"
    command = ["dockerd", "--data-root", folder / "data", "--exec-root", folder / "exec", "-H", address]
    command += ["--pidfile", folder / "pid", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs"]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen([*map(str, command), "--bip", "172.31.250.1/24"], stdout=log, stderr=log)
    try:
        until(lambda: _answers(address, daemon, folder / "log"), 60)
        with contextlib.closing(docker.DockerClient(base_url=address)) as client:
            client.api.import_image_from_data(_links(), repository=IMAGE.partition(":")[0], tag=IMAGE.partition(":")[2])
        yield address
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


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
