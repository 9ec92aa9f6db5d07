# SPDX-License-Identifier: Apache-2.0
"""A real nginx with TLS on loopback, with the settings of docs/logins.md and servers below paths of its own site."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.certificates import make_certificate
from support.processes import needs, until

_DOCS = Path(__file__).parents[2] / "docs" / "logins.md"
_PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"


@dataclass(frozen=True)
class Place:
    """A path of the site on one port, and the port of the server that is asked for what is below."""

    port: int
    path: str
    server: int
    strips: bool = False
    """Whether the server is asked without the path."""

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}{self.path}"


@contextlib.contextmanager
def nginx(folder: Path, places: Sequence[Place]) -> Generator[Path]:
    """A running proxy; the certificate by which it is known."""
    needs("" if Path(_PROGRAM).exists() else "nginx is not installed (Debian: nginx-light)")
    certificate = make_certificate(folder)
    (folder / "nginx.conf").write_text(_settings(folder, certificate, places))
    command = [_PROGRAM, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")]
    process = subprocess.Popen(command)
    try:
        until(lambda: process.poll() is not None or all(_answers(place.port) for place in places))
        assert process.poll() is None, (folder / "nginx.log").read_text()
        yield certificate
    finally:
        process.terminate()
        process.wait(20)


def _settings(folder: Path, certificate: Path, places: Sequence[Place]) -> str:
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    sites = "".join(_site(certificate, place) for place in places)
    return f"""
{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
access_log off;
{temporary}
{sites}
}}
"""


def _site(certificate: Path, place: Place) -> str:
    slash = "/" if place.strips else ""
    documented = _DOCS.read_text().partition("```nginx\n")[2].partition("```")[0]
    below = documented.replace("/team/aboard/", f"{place.path}/")
    below = below.replace("http://127.0.0.1:6006", f"http://127.0.0.1:{place.server}{slash}")
    assert below.count(str(place.server)) == 1, documented
    return f"""
server {{
  listen 127.0.0.1:{place.port} ssl;
  ssl_certificate {certificate}; ssl_certificate_key {certificate.with_suffix(".key")};
  location = / {{ return 200 "another application"; }}
  {below}
}}
"""


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
