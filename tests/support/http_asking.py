# SPDX-License-Identifier: Apache-2.0
"""Requests by hand to a server that a test has started."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, NamedTuple

from aboard.client.client import Client
from support.stored_runs import TOKEN


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in small letters
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(client: Client, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """Ask for a path, which begins with a slash; `_` in names of headers stands for `-`."""
    return ask_url(client.url + path, method, body, **{"Authorization": f"Bearer {TOKEN}", **headers})


def ask_url(url: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """The same for a whole address, without a token."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, given, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return _answer(answer.status, answer)
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error)


def _answer(status: int, answer: Any) -> Answer:
    return Answer(status, {name.lower(): value for name, value in answer.headers.items()}, answer.read())
