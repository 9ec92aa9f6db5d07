# SPDX-License-Identifier: Apache-2.0
"""Responses of boards carry a Content-Security-Policy, also those to which TensorBoard gives none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.board.hosting import BoardDispatcher
from aboard.server.boards.wsgi import WSGIBridge
from aboard.server.http.security_headers import SecurityHeadersMiddleware
from support.board_client import board_over


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("logs")
    with aboard.SummaryWriter(folder / "run") as writer:
        writer.add_hparams({"lr": 0.1}, {"loss": 1.0})
    return SecurityHeadersMiddleware(
        WSGIBridge(BoardDispatcher({"x": board_over(folder)}.get), workers=1), is_secure=False
    )


def ask(app: Any, path: str, method: str = "GET", body: bytes = b"") -> tuple[int, str, list[str]]:
    """The status, the content type and the policies of a response."""
    sent: list[dict[str, Any]] = []
    scope = {"type": "http", "http_version": "1.1", "method": method, "path": path, "query_string": b"", "headers": []}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
    policies = [value for name, value in headers if name == "content-security-policy"]
    return sent[0]["status"], dict(headers).get("content-type", ""), policies


@pytest.mark.parametrize("route", ["session_groups", "experiment", "metric_evals"])
def test_error_pages_of_plugins_run_no_script(app, route):
    status, kind, policies = ask(app, f"/boards/x/data/plugin/hparams/{route}", "POST", b"<script>alert(1)</script>")
    assert (status, kind.partition(";")[0]) == (400, "text/html")
    assert "default-src 'none'" in policies
    assert any("frame-ancestors 'self'" in one for one in policies)


def test_pages_of_tensorboard_keep_their_own_policy(app):
    _, kind, policies = ask(app, "/boards/x/")
    assert kind.startswith("text/html")
    assert "default-src 'none'" not in policies
    assert "script-src" in policies[0]


def test_data_and_scripts_are_left_alone(app):
    """The policy of a script that runs as a worker would hold for all that the worker loads."""
    for path in ("/boards/x/data/runs", "/boards/x/index.js"):
        status, _, policies = ask(app, path)
        assert status == 200
        assert "default-src 'none'" not in policies
