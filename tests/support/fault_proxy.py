# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy between a client and an object store that fails in the ways networks and servers do, on demand.

It stands before the server (clients use its `endpoint` instead) or is used as an HTTP proxy, for virtual-hosted
addressing: whatever host is asked, the server behind it gets the request. Requests are passed on unchanged, so that
their signatures hold, and are written down.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from support.http_serving import AnyMethodHandler, serving

MAX_HANG_SECONDS = 60
NOT_PASSED_ON = {"connection", "transfer-encoding", "keep-alive", "proxy-connection"}


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    method: str
    host: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """With names in small letters."""
    body_bytes: int


@dataclass
class Fault:
    """What goes wrong, for which requests, and how often."""

    kind: str
    method: str = ""
    path: str = ""
    """A regular expression for path and query."""
    times: int | None = None
    status: int = 0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0
    after_bytes: int = 0

    def concerns(self, method: str, target: str) -> bool:
        return self.times != 0 and self.method in {"", method} and re.search(self.path, target) is not None


class FaultProxy:
    """The proxy and its log; without faults it only passes on."""

    def __init__(self, upstream_port: int) -> None:
        self.upstream_port = upstream_port
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._log: list[Asked] = []
        self._cut = False
        self._over = threading.Event()
        self._released = threading.Event()
        self.port = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Asked]:
        with self._lock:
            return list(self._log)

    def counts(self) -> Counter[str]:
        """How many requests of each method arrived."""
        return Counter(asked.method for asked in self.requests)

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None, **which: Any) -> None:
        """Answer in place of the server."""
        self._add(Fault("answer", status=status, body=body, headers=headers or {}, **which))

    def delay(self, seconds: float, **which: Any) -> None:
        """Wait before passing on."""
        self._add(Fault("delay", seconds=seconds, **which))

    def hold(self, **which: Any) -> None:
        """Wait for `release` before passing on."""
        self._released.clear()
        self._add(Fault("hold", **which))

    def release(self) -> None:
        """Pass on what is held, and no more of it is; the other faults stay."""
        with self._lock:
            self._faults = [fault for fault in self._faults if fault.kind != "hold"]
        self._released.set()

    def truncate(self, after_bytes: int, **which: Any) -> None:
        """End the connection in the middle of the server's answer."""
        self._add(Fault("truncate", after_bytes=after_bytes, **which))

    def reset(self, **which: Any) -> None:
        """Break the connection instead of passing on."""
        self._add(Fault("reset", **which))

    def lose_answer(self, **which: Any) -> None:
        """Pass on, then break the connection: the server has done it, and the client cannot know."""
        self._add(Fault("lose", **which))

    def hang(self, **which: Any) -> None:
        """Never answer."""
        self._add(Fault("hang", **which))

    def cut(self) -> None:
        """No network: every connection breaks, now and until `heal`."""
        with self._lock:
            self._cut = True

    def heal(self) -> None:
        """No more faults; the log is kept."""
        with self._lock:
            self._cut = False
            self._faults.clear()

    def forget(self) -> None:
        """An empty log."""
        with self._lock:
            self._log.clear()

    def stop(self) -> None:
        """Release what hangs."""
        self._over.set()
        self._released.set()

    def _add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def take_fault(self, asked: Asked, target: str) -> list[Fault]:
        """Note a request, and use up one time of each fault that concerns it."""
        with self._lock:
            self._log.append(asked)
            if self._cut:
                return [Fault("reset")]
            found = [fault for fault in self._faults if fault.concerns(asked.method, target)]
            for fault in found:
                if fault.times is not None:
                    fault.times -= 1
            return found

    def sleep(self, seconds: float) -> None:
        self._over.wait(seconds)

    def wait_for_release(self) -> None:
        self._released.wait(MAX_HANG_SECONDS)


class _Handler(AnyMethodHandler):
    proxy: FaultProxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        asked = Asked(self.command, headers.get("host", ""), unquote(parts.path), query, headers, len(body))
        cut_at: int | None = None
        for fault in self.proxy.take_fault(asked, target):
            if fault.kind == "delay":
                self.proxy.sleep(fault.seconds)
            elif fault.kind == "hold":
                self.proxy.wait_for_release()
            elif fault.kind == "answer":
                return self._answer(fault.status, fault.headers, fault.body)
            elif fault.kind == "truncate":
                cut_at = fault.after_bytes
            else:
                return self._break(fault.kind, target, body)
        self._answer(*self._pass_on(target, body), cut_at=cut_at)
        return None

    def do_CONNECT(self) -> None:
        """A tunnel that is asked for is noted and refused: nothing leaves the machine."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.proxy.take_fault(Asked("CONNECT", self.path, "", {}, headers, 0), self.path)
        self._answer(502, {}, b"")

    def _break(self, kind: str, target: str, body: bytes) -> None:
        if kind == "hang":
            self.proxy.sleep(MAX_HANG_SECONDS)
        if kind == "lose":
            self._pass_on(target, body)
        self._hang_up()

    def _pass_on(self, target: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.upstream_port, timeout=30)
        with contextlib.closing(upstream):
            upstream.putrequest(self.command, target, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in NOT_PASSED_ON:
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def _answer(self, status: int, headers: dict[str, str], body: bytes, cut_at: int | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON and (name.lower() != "content-length" or self.command == "HEAD"):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        elif "content-length" not in {name.lower() for name in headers}:
            self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" and cut_at is None else body[: cut_at or 0])
        if cut_at is not None:
            self.wfile.flush()
            self._hang_up()

    def _hang_up(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


@contextlib.contextmanager
def fault_proxy(upstream_port: int) -> Iterator[FaultProxy]:
    """A proxy before the server at this port of the machine."""
    proxy = FaultProxy(upstream_port)
    with serving(type("Handler", (_Handler,), {"proxy": proxy})) as port:
        proxy.port = port
        yield proxy
        proxy.stop()
