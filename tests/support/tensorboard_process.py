# SPDX-License-Identifier: Apache-2.0
"""A real `tensorboard` process to compare boards with."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support.object_servers import free_ports

SECONDS = 60  # how long anything may take to appear


class Answer(NamedTuple):
    """What came back from a request."""

    status: int
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class StockTensorBoard:
    """One TensorBoard process and its HTTP interface."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port, self.process = port, process
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def fetch(self, path: str, body: bytes | None = None, kind: str = "application/json") -> Answer:
        headers = {"Content-Type": kind} if body is not None else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, headers=headers)
        try:
            with self._opener.open(request, timeout=60) as answer:
                return Answer(answer.status, answer.headers.get("Content-Type", ""), answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers.get("Content-Type", ""), error.read())

    def wait_for(self, condition: Callable[[StockTensorBoard], object], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not self._holds(condition):
            assert self.process.poll() is None, "TensorBoard ended"
            assert time.monotonic() < end, f"{what} did not appear within {SECONDS} s"
            time.sleep(0.1)

    def _holds(self, condition: Callable[[StockTensorBoard], object]) -> bool:
        try:
            return bool(condition(self))
        except (urllib.error.URLError, ConnectionError, KeyError, ValueError):
            return False


@contextmanager
def stock_tensorboard(folder: Path, log: Path, *, load_fast: bool, **flags: object) -> Iterator[StockTensorBoard]:
    """A process that shows `folder` and is ended afterwards."""
    (port,) = free_ports(1)
    options = {"logdir": folder, "port": port, "host": "127.0.0.1", "reload_interval": 1, **flags}
    arguments = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "tensorboard.main", f"--load_fast={str(load_fast).lower()}", *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield StockTensorBoard(port, process)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)
