# SPDX-License-Identifier: Apache-2.0
"""A login of a command by way of the person's browser, which brings a code back to a port of this machine.

The code is worth something only to who knows the verifier, whose digest alone went through the browser.
"""

from __future__ import annotations

import hashlib
import http.server
import secrets
import socket
import threading
import webbrowser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import typer

from aboard.client.people import TokensClient

_PATIENCE_SECONDS = 300.0
_DONE = b"<!doctype html><title>aboard</title><p>You are logged in. Go back to your terminal; this page can be closed."
_WRONG = b"<!doctype html><title>aboard</title><p>This is not the answer that the command waits for."


class _Waiting(http.server.HTTPServer):
    """Waits for one answer on a port of loopback."""

    def __init__(self, state: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.state, self.code = state, ""
        self.arrived = threading.Event()


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Take the code out of the address."""
        waiting = self.server
        assert isinstance(waiting, _Waiting)
        query = parse_qs(urlsplit(self.path).query)
        is_right = secrets.compare_digest(query.get("state", [""])[0].encode(), waiting.state.encode())
        code = query.get("code", [""])[0] if is_right else ""
        self.send_response(200 if code else 400)
        for name, value in (
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", "default-src 'none'"),
            ("referrer-policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(_DONE if code else _WRONG)
        if code:
            waiting.code = code
            waiting.arrived.set()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Say nothing."""


def browser_login(url: str, tokens: TokensClient, seconds: float = _PATIENCE_SECONDS) -> str | None:
    """A token, or None if no browser could be opened."""
    verifier, state = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
    with _Waiting(state) as waiting:
        query = {
            "port": waiting.server_port,
            "challenge": hashlib.sha256(verifier.encode()).hexdigest(),
            "state": state,
        }
        address = f"{url}/login/program?{urlencode(query)}"
        if not webbrowser.open(address):
            return None
        typer.echo(f"Your browser shows {url}; confirm there. Ctrl-C, then --token, if it does not.", err=True)
        thread = threading.Thread(target=waiting.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            waiting.arrived.wait(seconds)
        finally:
            waiting.shutdown()
    if not waiting.code:
        return None
    return tokens.exchange(waiting.code, verifier, f"login on {socket.gethostname()}"[:100]).text
