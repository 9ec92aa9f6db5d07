# SPDX-License-Identifier: Apache-2.0
"""A program that stands for TensorBoard where a test is about its process: it starts within a tenth of a second.

It takes the flags that boards give, refuses others, and lists the runs below its logdir.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMAND = (sys.executable, "-S", __file__)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    prefix: str
    logdir: Path

    def do_GET(self) -> None:
        place = self.path.partition("?")[0].removeprefix(self.prefix)
        if place == "/":
            self._answer(200, "text/html", b"<!doctype html>")
        elif place == "/data/runs":
            runs = {path.parent.relative_to(self.logdir).as_posix() for path in self.logdir.rglob("*tfevents*")}
            self._answer(200, "application/json", json.dumps(sorted(runs)).encode())
        else:
            self._answer(404, "text/plain", b"")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: the log of a board is part of what tests look at."""


def main() -> None:
    parser = argparse.ArgumentParser()
    for flag in ("logdir", "host", "path_prefix", "reload_interval", "window_title"):
        parser.add_argument(f"--{flag}", default="")
    parser.add_argument("--port", type=int, required=True)
    asked = parser.parse_args()
    _Handler.prefix, _Handler.logdir = asked.path_prefix, Path(asked.logdir)
    ThreadingHTTPServer((asked.host, asked.port), _Handler).serve_forever()


if __name__ == "__main__":
    main()
