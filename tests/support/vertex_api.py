# SPDX-License-Identifier: Apache-2.0
"""Vertex AI and Cloud Logging of the tests' own at the HTTP level: Google's library talks to it over a socket.

It keeps custom jobs and TensorBoard instances as the REST API describes them, filters by labels and display names, and
pages. What becomes of jobs is said by the tests, or by `vertex_machines`, which runs them as processes.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import threading
from collections.abc import Callable, Generator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from support.http_serving import AnyMethodHandler, serving
from support.what_was_real import vertex_stood_on_own_server

_PATH = re.compile(r"/v1/(projects/[^/]+/locations/[^/]+)/([a-zA-Z]+)(?:/([^/:]+))?(?::([a-z]+))?")
_PAGE = 2


class VertexApi:
    """What the server keeps, and what tests do to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.address = ""
        self.objects: dict[str, dict[str, Any]] = {}
        self.entries: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, Any]] = []
        self.refuse: tuple[int, str, str] | None = None
        self.before_create = threading.Barrier(1)
        self.lists_late = False
        """Whether what was made is not listed yet, as can be where several machines answer."""
        self.cancel: Callable[[dict[str, Any]], None] = lambda job: job.update(state="JOB_STATE_CANCELLED")
        self.printed: Callable[[str], list[dict[str, Any]]] = lambda number: [
            each for each in self.entries if each["job"] == number
        ]
        """The entries of Cloud Logging for a job, given by its number."""
        self._count = 0

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return [each for name, each in self.objects.items() if "/customJobs/" in name]

    @property
    def tensorboards(self) -> list[dict[str, Any]]:
        return [each for name, each in self.objects.items() if "/tensorboards/" in name]

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        self.asked.append((method, path, body))
        if self.refuse is not None:
            code, status, message = self.refuse
            return code, {"error": {"code": code, "status": status, "message": message}}
        if path == "/v2/entries:list":
            return 200, self._logged(body)
        match = _PATH.fullmatch(path)
        assert match is not None, path
        parent, kind, number, verb = match.groups()
        if method == "POST" and kind == "customJobs" and number is None:
            self.before_create.wait(60)
        with self.lock:
            return self._kept(method, parent, kind, number, verb, query, body)

    def _kept(
        self,
        method: str,
        parent: str,
        kind: str,
        number: str | None,
        verb: str | None,
        query: dict[str, Any],
        body: Any,
    ) -> tuple[int, Any]:
        name = f"{parent}/{kind}/{number}"
        if number is None and method == "POST":
            made = self._made(parent, kind, body)
            return 200, made if kind == "customJobs" else self._operation(parent)
        if number is None:
            return 200, self._page(parent, kind, query)
        if name not in self.objects:
            return 404, {"error": {"code": 404, "status": "NOT_FOUND", "message": f"{name} is not found."}}
        if verb == "cancel":
            self.cancel(self.objects[name])
            return 200, {}
        if method == "DELETE":
            del self.objects[name]
            return 200, self._operation(parent)
        return 200, self.objects[name]

    def _made(self, parent: str, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        name = f"{parent}/{kind}/{1000 + self._count}"
        moment = dt.datetime(2026, 11, 16, 6, tzinfo=dt.UTC) + dt.timedelta(seconds=self._count)
        made = {**body, "name": name, "createTime": moment.isoformat()}
        if kind == "customJobs":
            made["state"] = "JOB_STATE_PENDING"
        self.objects[name] = made
        return made

    def _operation(self, parent: str) -> dict[str, Any]:
        self._count += 1
        return {"name": f"{parent}/operations/{self._count}", "done": False}

    def _page(self, parent: str, kind: str, query: dict[str, Any]) -> dict[str, Any]:
        name, _, value = query.get("filter", [""])[0].partition("=")
        all_there = {} if self.lists_late else self.objects
        found = [each for key, each in all_there.items() if key.startswith(f"{parent}/{kind}/")]
        if name.startswith("labels."):
            found = [each for each in found if each.get("labels", {}).get(name[7:]) == value]
        elif name:
            assert name == "display_name", name
            found = [each for each in found if each["displayName"] == json.loads(value)]
        start = int(query.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(start + _PAGE)} if start + _PAGE < len(found) else {}
        return {kind: found[start : start + _PAGE], **more}

    def _logged(self, body: dict[str, Any]) -> dict[str, Any]:
        number = re.search(r'resource.labels.job_id="(\d+)"', body["filter"])
        assert number is not None
        assert body["orderBy"] == "timestamp asc"
        found = self.printed(number[1])
        start = int(body.get("pageToken", 0))
        more = {"nextPageToken": str(start + _PAGE)} if start + _PAGE < len(found) else {}
        return {"entries": found[start : start + _PAGE], **more}


@contextlib.contextmanager
def vertex_api(*, has_machines: bool = False) -> Generator[VertexApi]:
    """A server."""
    vertex_stood_on_own_server(has_machines=has_machines)
    api = VertexApi()

    class Handler(AnyMethodHandler):
        def handle_any(self) -> None:
            parts, body = urlsplit(self.path), self.asked_document()
            self.answer_document(*api.answer(self.command, unquote(parts.path), parse_qs(parts.query), body))

    with serving(Handler, tells_errors=True) as port:
        api.address = f"http://127.0.0.1:{port}"
        yield api
