# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server of the tests' own at the HTTP level: the real client talks to it over a socket.

It keeps objects as a server does (409 for a name that is taken, 404 with a Status, merge patches, label and field
selectors, secrets in base64, port-forwarding by WebSocket), and allows what the Role of aboard allows. What becomes of
pods is said by the tests, or by `kubernetes_node`, which runs them as processes.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import datetime as dt
import itertools
import json
import re
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.http_serving import AnyMethodHandler, serving
from support.kubernetes_rights import may, verb_of
from support.port_forwarding import forward_ports
from support.what_was_real import kubernetes_stood_on_own_server

_PATH = re.compile(r"/(?:api|apis)/(?:([a-z]+)/)?v1/namespaces/([^/]+)/([a-z]+)(?:/([^/]+))?(?:/(log|portforward))?")


class KubernetesApi:
    """What the server keeps, and what tests do to it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.logs: dict[str, bytes] = {}
        self.events: list[dict[str, Any]] = []
        self.namespaces = {"default", "lab"}
        self.refuse: tuple[int, str] | None = None
        self.refuse_kinds: dict[str, tuple[int, str]] = {}
        """What is answered to who makes an object of a kind."""
        self.refuse_changes: tuple[int, str] | None = None
        self.token = ""
        """What has to be shown with every request; empty: everybody is let in."""
        self.port = 0
        self.deleted_with: list[str] = []
        self.claims: dict[str, str] = {}
        """Path of a claim → what pods see there instead of the folder of this name."""
        self.end_pod: Callable[[str, int | None], None] = self.drop_pod
        """Called when a pod is to end, with its grace if one is named."""
        self.evict_pod: Callable[[str], None] = self.drop_pod
        self.follow: Callable[[str, bool], Iterator[bytes]] = lambda name, _: iter([self.logs[name]])
        self._numbers = itertools.count()
        self._ahead = dt.timedelta()

    def add_pod(self, unit: str, status: dict[str, Any], node: str = "node-1") -> str:
        """A pod as the controllers would make it."""
        with self.lock:
            name = f"pod-{next(self._numbers)}"
            labels = {"aboard.dev/unit": unit}
            self.objects["pods", name] = {
                "metadata": {"name": name, "labels": labels, "creationTimestamp": self.now()},
                "spec": {"nodeName": node, "containers": []},
                "status": status,
            }
            return name

    def drop_pod(self, name: str, _: int | None = None) -> None:
        with self.lock:
            self.objects.pop(("pods", name), None)

    def set_status(self, kind: str, name: str, **status: Any) -> None:
        with self.lock:
            self.objects[kind, name]["status"] = status

    def warn(self, kind: str, name: str, message: str) -> None:
        """An event as controllers write it when they cannot go on."""
        about = {"kind": kind, "name": name}
        event = {"metadata": {"name": "e"}, "involvedObject": about, "type": "Warning", "message": message}
        self.events.insert(0, {**event, "lastTimestamp": self.now()})  # listed by name, and not by time

    def now(self) -> str:
        return (dt.datetime.now(dt.UTC) + self._ahead).isoformat()

    def set_clock_ahead(self, seconds: float) -> None:
        """Move the clock of the server and its controllers; the processes of pods keep theirs."""
        with self.lock:
            self._ahead += dt.timedelta(seconds=seconds)

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        if self.refuse is not None:
            return self.refuse[0], _status(*self.refuse)
        match = _PATH.fullmatch(path)
        assert match is not None, path
        group, namespace, kind, name, part = match.groups()
        resource, verb = f"{kind}/{part}" if part else kind, verb_of(method, names_one=name is not None)
        if not may(verb, group or "", resource):
            return 403, _status(403, f'{resource} is forbidden: User "person" cannot {verb} resource "{resource}"')
        with self.lock:
            if method == "POST":
                # Only who makes something is told that there is no namespace for it.
                if namespace not in self.namespaces:
                    return 404, _status(404, f'namespaces "{namespace}" not found')
                if kind in self.refuse_kinds:
                    return self.refuse_kinds[kind][0], _status(*self.refuse_kinds[kind])
                return self._create(kind, body)
            if name is None:
                return 200, self._list(kind, query)
            if (kind, name) not in self.objects:
                return 404, _status(404, f'{kind} "{name}" not found')
            if part == "log":
                return self._log(name, query)
            if method == "PATCH":
                if self.refuse_changes is not None:
                    return self.refuse_changes[0], _status(*self.refuse_changes)
                _merge(self.objects[kind, name], _stored(copy.deepcopy(body)))
            elif method == "DELETE":
                return 200, self._delete(kind, name, query, body)
            return 200, copy.deepcopy(self.objects[kind, name])

    def knows(self, authorization: str) -> bool:
        """Whether who shows this is let in."""
        scheme, _, token = authorization.partition(" ")
        return not self.token or (scheme.lower(), token) == ("bearer", self.token)

    def pod_port(self, path: str) -> bool:
        """Whether the path is that of a pod's ports."""
        match = _PATH.fullmatch(path)
        is_there = match is not None and match[5] == "portforward" and ("pods", match[4]) in self.objects
        return is_there and all(may(verb, "", "pods/portforward") for verb in ("get", "create"))

    def _create(self, kind: str, body: Any) -> tuple[int, Any]:
        key = kind, body["metadata"]["name"]
        if key in self.objects:
            return 409, _status(409, f'{kind} "{key[1]}" already exists')
        made = {**_stored(copy.deepcopy(body)), "status": {}}
        made["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.now()}
        self.objects[key] = made
        return 201, copy.deepcopy(made)

    def _list(self, kind: str, query: dict[str, list[str]]) -> dict[str, Any]:
        if kind == "events":
            wanted = dict(part.split("=", 1) for part in query["fieldSelector"][0].split(","))
            items = [
                event
                for event in self.events
                if event["involvedObject"]["kind"] == wanted["involvedObject.kind"]
                and event["involvedObject"]["name"] == wanted["involvedObject.name"]
            ]
        else:
            selector = query["labelSelector"][0]
            made = [each for (its_kind, _), each in self.objects.items() if its_kind == kind]
            items = [each for each in made if _fits(each["metadata"]["labels"], selector)]
        return {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": copy.deepcopy(items)}

    def _log(self, name: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        states = [each["state"] for each in self.objects["pods", name]["status"].get("containerStatuses", [])]
        if states and not any("running" in state or "terminated" in state for state in states):
            return 400, _status(400, f'container "unit" in pod "{name}" is waiting to start')
        return 200, self.follow(name, query.get("follow") == ["True"])

    def _delete(self, kind: str, name: str, query: dict[str, list[str]], body: Any) -> Any:
        self.deleted_with += [f"{kind}:{json.dumps(body, sort_keys=True)}:{query}"]
        made = copy.deepcopy(self.objects[kind, name])
        if kind == "pods":
            told = (body or {}).get("gracePeriodSeconds", query.get("gracePeriodSeconds", [None])[0])
            self.end_pod(name, None if told is None else int(told))
            return made
        del self.objects[kind, name]
        # As the garbage collector does it, at once.
        for key, each in list(self.objects.items()):
            owners = each["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == made["metadata"].get("uid") for owner in owners):
                self.end_pod(key[1], None) if key[0] == "pods" else self.objects.pop(key, None)
        return made


def _status(code: int, message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


def _stored(body: dict[str, Any]) -> dict[str, Any]:
    """Secrets are written as text and kept in base64."""
    text = body.pop("stringData", None)
    if text is not None:
        body["data"] = {name: base64.b64encode(value.encode()).decode() for name, value in text.items()}
    return body


def _fits(labels: dict[str, str], selector: str) -> bool:
    pairs = [part.partition("=") for part in selector.split(",")]
    return all(name in labels and (not equals or labels[name] == value) for name, equals, value in pairs)


def _merge(into: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif value is None:
            into.pop(key, None)
        else:
            into[key] = value


@contextlib.contextmanager
def kubernetes_api(
    folder: Path, certificate: Path | None = None, *, has_node: bool = False
) -> Generator[tuple[KubernetesApi, Path]]:
    """A server, and a kubeconfig that leads to it; with a certificate it speaks TLS alone."""
    api = KubernetesApi()

    class Handler(AnyMethodHandler):
        def handle_any(self) -> None:
            parts, body = urlsplit(self.path), self.asked_document()
            query = parse_qs(parts.query)
            if not api.knows(self.headers.get("Authorization", "")):
                self.answer_document(401, _status(401, "Unauthorized"))
                return
            if api.pod_port(parts.path):
                forward_ports(self, [int(port) for port in query["ports"][0].split(",")])
                self.close_connection = True
                return
            status, told = api.answer(self.command, parts.path, query, body)
            if isinstance(told, Iterator):
                self._stream(told)
            else:
                self.answer_document(status, told)

        def _stream(self, pieces: Iterator[bytes]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in pieces:
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

    kubernetes_stood_on_own_server(has_node=has_node)
    with serving(Handler, tells_errors=True, certificate=certificate) as port:
        api.port = port
        cluster = {"server": f"http://127.0.0.1:{port}"}
        if certificate is not None:
            cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "lab"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        yield api, path
