# SPDX-License-Identifier: Apache-2.0
"""A real nginx with TLS on loopback, as a reverse proxy that has servers below paths of its own site."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import socket
import subprocess
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.processes import needs, until

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
    certificate = _certificate(folder)
    (folder / "nginx.conf").write_text(_settings(folder, certificate, places))
    command = [_PROGRAM, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")]
    process = subprocess.Popen(command)
    try:
        until(lambda: process.poll() is not None or all(_answers(place.port) for place in places), 30)
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
    return f"""
server {{
  listen 127.0.0.1:{place.port} ssl;
  ssl_certificate {certificate}; ssl_certificate_key {certificate.with_suffix(".key")};
  location = / {{ return 200 "another application"; }}
  location {place.path}/ {{
    proxy_pass http://127.0.0.1:{place.server}{slash};
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_buffering off;
  }}
}}
"""


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "site.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    path.with_suffix(".key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
