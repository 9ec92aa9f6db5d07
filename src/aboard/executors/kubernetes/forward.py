# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard.executors.kubernetes.forward HANDLE HERE:THERE…`: ports of a unit on the loopback address.

It is a local unit itself, and ends when the unit it leads to has ended. The pods of an idle unit rest while nobody is
connected.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aboard.errors import AboardError, ExecutorUnavailable
from aboard.executors.kubernetes.cluster import ClusterAddress, Namespace, translate_errors
from aboard.executors.kubernetes.executor import LISTENS, Kubernetes
from aboard.executors.kubernetes.manifests import IDLE
from aboard.executors.kubernetes.status import UnitObject, is_ready
from aboard.executors.registry import executor_of
from aboard.model.units import UnitHandle

_POLL_SECONDS = 0.2
_WAKE_SECONDS = 300.0
_CLOSE_SECONDS, _CLOSE_POLL_SECONDS = 5.0, 0.01


@dataclass(kw_only=True)
class ForwardedUnit:
    """One unit. Its methods are called by many threads."""

    address: ClusterAddress
    place: UnitObject
    idle_seconds: float | None
    _open: int = 0
    _last_used: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def connect(self, port: int) -> tuple[Any, Callable[[], None]]:
        """A socket of the unit's port, and what is to be called when it is not needed any more."""
        with self._lock:
            self._open += 1
        with contextlib.ExitStack() as held:
            held.callback(self._closed)
            held.enter_context(translate_errors(self.place.namespace))
            opened = held.enter_context(Namespace(self.address, self.place.namespace))
            stream = opened.pod_socket(self._ready_pod(opened), port)
            held.callback(_end, stream)
            return stream, held.pop_all().close

    def has_ended(self) -> bool:
        """Whether the unit is over, or gone."""
        with translate_errors(self.place.namespace), Namespace(self.address, self.place.namespace) as opened:
            owner = opened.get(self.place.kind, self.place.name)
            return owner is None or self.place.status(owner, opened).state.is_ended

    def rest_if_idle(self) -> None:
        """End its pods when nobody was connected for as long as it was told."""
        with self._lock:
            if self.idle_seconds is None or self._open or time.monotonic() - self._last_used < self.idle_seconds:
                return
            with translate_errors(self.place.namespace), Namespace(self.address, self.place.namespace) as opened:
                owner = opened.get(self.place.kind, self.place.name)
                if owner is not None and not self.place.is_idle(owner):
                    change = {"metadata": {"annotations": {IDLE: "true"}}, "spec": self.place.without_pods}
                    opened.change(self.place.kind, self.place.name, change)

    def _ready_pod(self, opened: Namespace) -> str:
        with self._lock:
            owner = opened.get(self.place.kind, self.place.name)
            if owner is not None and self.place.is_idle(owner):
                change = {"metadata": {"annotations": {IDLE: None}}, "spec": self.place.with_pods}
                opened.change(self.place.kind, self.place.name, change)
        end = time.monotonic() + _WAKE_SECONDS
        while time.monotonic() < end:
            ready = [pod for pod in self.place.pods(opened) if is_ready(pod)]
            if ready:
                return str(ready[-1].metadata.name)
            owner = opened.get(self.place.kind, self.place.name)
            if owner is None or self.place.status(owner, opened).state.is_ended:
                break
            time.sleep(_POLL_SECONDS)
        raise ExecutorUnavailable(f"{self.place.name} has no pod that answers")

    def _closed(self) -> None:
        with self._lock:
            self._open -= 1
            self._last_used = time.monotonic()


def _end(stream: Any) -> None:
    """Close a connection at both ends: the library leaves its own open where the pod is the first to close.

    Not before the library's thread has let go of it: a descriptor that is closed under a thread which still says
    good-bye may be another connection's by then, and that one gets its bytes.
    """
    stream.close()
    end = time.monotonic() + _CLOSE_SECONDS
    while _is_passing(stream) and time.monotonic() < end:
        time.sleep(_CLOSE_POLL_SECONDS)
    stream.websocket.shutdown()


def _is_passing(stream: Any) -> bool:
    """Whether the library's thread is at work; it tells neither the thread nor its end, but a thread knows its task."""
    task = stream._proxy  # noqa: SLF001 - nothing public says when it is over
    return any(getattr(each, "_target", None) == task for each in threading.enumerate())


_STATUS_SECONDS = 5.0
_SILENT_SECONDS = 600.0
_CHUNK = 64 << 10


def forward(forwarded: ForwardedUnit, ports: list[tuple[int, int]]) -> None:
    """Listen until the unit has ended."""
    for here, there in ports:
        listening = socket.create_server(("127.0.0.1", here))
        threading.Thread(target=_accept, args=(forwarded, listening, there), daemon=True).start()
    _say(LISTENS)
    pause = (
        _STATUS_SECONDS if forwarded.idle_seconds is None else min(_STATUS_SECONDS, forwarded.idle_seconds / 4 + 0.05)
    )
    answered = time.monotonic()
    while True:
        time.sleep(pause)
        try:
            if forwarded.has_ended():
                return
            answered = time.monotonic()
            forwarded.rest_if_idle()
        except AboardError as error:
            _say(str(error))  # looked at again
            if time.monotonic() - answered > _SILENT_SECONDS:
                return  # whoever asks for the endpoint later gets another tunnel


def _accept(forwarded: ForwardedUnit, listening: socket.socket, port: int) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_serve, args=(forwarded, connection, port), daemon=True).start()


def _serve(forwarded: ForwardedUnit, connection: socket.socket, port: int) -> None:
    with connection:
        try:
            stream, close = forwarded.connect(port)
        except AboardError as error:
            _say(str(error))
            return
        try:
            there = stream.socket(port)
            there.setblocking(True)
            back = threading.Thread(target=_pump, args=(there, connection), daemon=True)
            back.start()
            _pump(connection, there)
            back.join()
            if said := stream.error(port):
                _say(str(said))
        finally:
            close()


def _pump(source: Any, target: Any) -> None:
    """Pass on what comes until one side ends, then end the other direction of neither: the protocol knows no half."""
    try:
        while piece := source.recv(_CHUNK):
            target.sendall(piece)
    except OSError:
        pass
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def forwarded_unit(handle: UnitHandle) -> ForwardedUnit:
    """The unit of a handle, as its ports are forwarded."""
    executor = executor_of(handle)
    assert isinstance(executor, Kubernetes)
    address, place = executor.address_of(handle), UnitObject.of(handle)
    return ForwardedUnit(address=address, place=place, idle_seconds=executor.idle_seconds)


def main(arguments: list[str]) -> None:
    handle = UnitHandle.parse(arguments[0])
    pairs = [text.split(":") for text in arguments[1:]]
    forward(forwarded_unit(handle), [(int(here), int(there)) for here, there in pairs])


if __name__ == "__main__":
    main(sys.argv[1:])
