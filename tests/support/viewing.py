# SPDX-License-Identifier: Apache-2.0
"""`aboard view` and other commands run as a person runs them, and asked over HTTP."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from support.forked_commands import ForkedCommand

FROM_AFAR = {"Accept-Encoding": "gzip", "X-Forwarded-For": "192.0.2.1"}
"""Headers of a browser behind a proxy."""
ABOARD = [sys.executable, "-c", "from aboard.cli import main; main()"]


class View:
    """A running `aboard view`: the line that it printed, its process, and what it says besides."""

    def __init__(self, line: dict[str, Any], process: subprocess.Popen[str] | ForkedCommand) -> None:
        self.line, self.process = line, process
        self._said: list[str] = []
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._said.extend(iter(self.process.stderr.readline, ""))

    @property
    def url(self) -> str:
        return self.line["tensorboard_url"]

    @property
    def page_url(self) -> str:
        """The address of aboard's page and API."""
        return self.url.removesuffix("tensorboard/")

    @property
    def port(self) -> int:
        return int(self.url.split("/")[2].rpartition(":")[2])

    def fetch(self, path: str, **headers: str) -> bytes:
        """An answer of TensorBoard, or one of aboard's API for paths that begin so."""
        return fetch((self.page_url if path.startswith(("api/", "healthz")) else self.url) + path, **headers)

    def post(self, path: str, body: bytes, kind: str = "application/json") -> bytes:
        request = urllib.request.Request(self.url + path, data=body, headers={"Content-Type": kind})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def json(self, path: str, **headers: str) -> Any:
        return json.loads(self.fetch(path, **headers))

    def scalars(self, run: str, tag: str = "loss") -> list[list[Any]]:
        return self.json(f"data/plugin/scalars/scalars?{urlencode({'run': run, 'tag': tag})}")

    def wait_until_read(self, within: float = 60) -> dict[str, Any]:
        """Wait until everything was read once; the progress then."""
        progress = eventually(lambda: (seen := self.json("api/v1/progress"))["complete"] and seen, within=within)
        assert isinstance(progress, dict)
        return progress

    def wait_until_said(self, words: str, within: float = 60) -> None:
        """Wait until it says something on standard error."""
        eventually(lambda: words in self.said, within=within)

    @property
    def said(self) -> str:
        """What it has said on standard error so far."""
        return "".join(self._said)

    def end(self) -> str:
        """End it by Ctrl-C; what it said."""
        self.process.send_signal(signal.SIGINT)
        said = self.said_until_the_end()
        assert self.process.returncode == 0, said
        assert "Traceback" not in said, said
        return said

    def said_until_the_end(self) -> str:
        """Wait for its end; all that it said on standard error."""
        self.process.wait(60)
        self._listening.join(60)
        return "".join(self._said)


@contextlib.contextmanager
def viewing(*arguments: object, as_text: bool = False, interpreter: bool = False, **options: Any) -> Iterator[View]:
    """A running `aboard view`, ended by Ctrl-C.

    With `interpreter` it is started as from a shell, and `options` are those of Popen; without it it is a fork of a
    process that has imported all of it, which saves most of the time, and `env` and `cwd` are the options.
    """
    form = ["--no-browser"] if as_text else ["--json"]
    port = [] if "--port" in arguments else ["--port", "0"]
    command = ["view", *form, *port, *map(str, arguments)]
    process: subprocess.Popen[str] | ForkedCommand
    if interpreter:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([*ABOARD, *command], **pipes, **options)
    else:
        process = ForkedCommand(*command, **options)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"aboard view ended with {process.wait(20)}: {process.stderr.read()}")
        view = View({"tensorboard_url": line.split(" at ")[-1].strip()} if as_text else json.loads(line), process)
        try:
            yield view
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                view.said_until_the_end()
            except subprocess.TimeoutExpired:
                process.kill()
                view.said_until_the_end()
                raise


def fetch(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return answer.read()


def fetch_json(url: str, **headers: str) -> Any:
    return json.loads(fetch(url, **headers))


def eventually(look: Callable[[], object], *, within: float = 60) -> Any:
    """What `look` sees as soon as it is true; a refused request counts as not yet."""
    deadline = time.monotonic() + within
    while True:
        try:
            seen = look()
        except urllib.error.HTTPError as error:
            error.close()
            seen = None
        if seen:
            return seen
        assert time.monotonic() < deadline, f"not seen within {within} s"
        time.sleep(0.02)


def run_aboard(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ABOARD, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)
