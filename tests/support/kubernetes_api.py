# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server of the tests' own at the HTTP level: the real client talks to it over a socket.

It keeps objects as a server does (409 for a name that is taken, 404 with a Status, merge patches, label selectors),
but has no kubelet: tests say what becomes of pods.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(r"/(?:api|apis)/(?:[a-z]+/)?v1/namespaces/([^/]+)/([a-z]+)(?:/([^/]+))?(/log)?")
_NOW = "2026-11-16T06:00:00Z"


class KubernetesApi:
    """What the server keeps, and what tests do to it."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.logs: dict[str, bytes] = {}
        self.namespaces = {"default", "lab"}
        self.refuse: tuple[int, str] | None = None
        self.deleted_with: list[str] = []

    def add_pod(self, unit: str, status: dict[str, Any], node: str = "node-1") -> str:
        """A pod as the controllers would make it for the newest object."""
        name = f"pod-{sum(kind == 'pods' for kind, _ in self.objects)}"
        metadata = {"name": name, "labels": {"aboard.dev/unit": unit}, "creationTimestamp": _NOW}
        self.objects["pods", name] = {
            "metadata": metadata,
            "spec": {"nodeName": node, "containers": []},
            "status": status,
        }
        return name

    def set_status(self, kind: str, name: str, **status: Any) -> None:
        self.objects[kind, name]["status"] = status

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        if self.refuse is not None:
            return self.refuse[0], _status(*self.refuse)
        match = _PATH.fullmatch(path)
        assert match is not None, path
        namespace, kind, name, log = match.groups()
        if namespace not in self.namespaces:
            return 404, _status(404, f'namespaces "{namespace}" not found')
        if log:
            return 200, self.logs[name]
        if method == "POST":
            return self._create(kind, body)
        if name is None:
            label, _, value = query["labelSelector"][0].partition("=")
            made = [each for (its_kind, _), each in self.objects.items() if its_kind == kind]
            items = [each for each in made if each["metadata"]["labels"][label] == value]
            return 200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
        if (kind, name) not in self.objects:
            return 404, _status(404, f'{kind} "{name}" not found')
        if method == "PATCH":
            _merge(self.objects[kind, name], body)
        elif method == "DELETE":
            self.deleted_with += [f"{kind}:{json.dumps(body, sort_keys=True)}:{query}"]
            return 200, self.objects.pop((kind, name))
        return 200, self.objects[kind, name]

    def _create(self, kind: str, body: Any) -> tuple[int, Any]:
        key = kind, body["metadata"]["name"]
        if key in self.objects:
            return 409, _status(409, f'{kind} "{key[1]}" already exists')
        self.objects[key] = {**copy.deepcopy(body), "status": {}}
        return 201, self.objects[key]


def _status(code: int, message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


def _merge(into: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


@contextlib.contextmanager
def kubernetes_api(folder: Path) -> Generator[tuple[KubernetesApi, Path]]:
    """A server, and a kubeconfig that leads to it."""
    api = KubernetesApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            parts = urlsplit(self.path)
            status, told = api.answer(self.command, parts.path, parse_qs(parts.query), body)
            data = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(told, bytes) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - names of the base class

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "lab"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    try:
        yield api, path
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
