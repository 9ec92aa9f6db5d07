# SPDX-License-Identifier: Apache-2.0
"""What a custom job printed, from Cloud Logging: a line for each entry, the oldest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from aboard.executors.vertex_client import VertexClients

_PAGE = 1000


def printed(clients: VertexClients, job: str) -> Iterator[bytes]:
    """The lines of a job, given by its resource name."""
    number = job.rpartition("/")[2]
    request: dict[str, Any] = {
        "resourceNames": [f"projects/{clients.project}"],
        "filter": f'resource.type="ml_job" AND resource.labels.job_id="{number}"',
        "orderBy": "timestamp asc",
        "pageSize": _PAGE,
    }
    while True:
        page = clients.log_entries(request)
        for entry in page.get("entries", []):
            yield f"{_text(entry)}\n".encode()
        if not page.get("nextPageToken"):
            return
        request = {**request, "pageToken": page["nextPageToken"]}


def _text(entry: dict[str, Any]) -> str:
    """Python's own logging arrives as a document with the line in it."""
    if "textPayload" in entry:
        return str(entry["textPayload"]).rstrip("\n")
    payload = entry.get("jsonPayload", {})
    return str(payload["message"]).rstrip("\n") if "message" in payload else json.dumps(payload)
