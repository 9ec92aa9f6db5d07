# SPDX-License-Identifier: Apache-2.0
"""HTTP servers in a thread of the test process, on loopback and a free port."""

from __future__ import annotations

import contextlib
import http.server
import json
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator
from pathlib import Path
from typing import Any


class AnyMethodHandler(http.server.BaseHTTPRequestHandler, ABC):
    """One function for every method; nothing is printed."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: the second would wait 40 ms to be sent

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            super().handle()

    @abstractmethod
    def handle_any(self) -> None:
        """Answer the request, whatever its method."""

    def do_GET(self) -> None:
        self.handle_any()

    def do_HEAD(self) -> None:
        self.handle_any()

    def do_PUT(self) -> None:
        self.handle_any()

    def do_POST(self) -> None:
        self.handle_any()

    def do_PATCH(self) -> None:
        self.handle_any()

    def do_DELETE(self) -> None:
        self.handle_any()

    def asked_document(self) -> Any:
        """The JSON that was sent; None where nothing was."""
        length = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(length)) if length else None

    def answer_document(self, status: int, document: object) -> None:
        """Answer with JSON."""
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients give up in the middle, and that is what the tests are about."""


@contextlib.contextmanager
def serving(
    handler: type[http.server.BaseHTTPRequestHandler], *, tells_errors: bool = False, certificate: Path | None = None
) -> Generator[int]:
    """The port of a server, which is ended afterwards; with a certificate it speaks TLS alone."""
    server = (http.server.ThreadingHTTPServer if tells_errors else _QuietServer)(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
