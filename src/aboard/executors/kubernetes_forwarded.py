# SPDX-License-Identifier: Apache-2.0
"""A unit in a cluster as its tunnel sees it: connections to its pod, and its rest while there are none."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aboard.errors import ExecutorUnavailable
from aboard.executors.kubernetes_cluster import ClusterAddress, Namespace
from aboard.executors.kubernetes_faults import explained
from aboard.executors.kubernetes_manifests import IDLE
from aboard.executors.kubernetes_place import Place
from aboard.executors.kubernetes_status import is_ready

_POLL_SECONDS = 0.2
_WAKE_SECONDS = 300.0
_CLOSE_SECONDS, _CLOSE_POLL_SECONDS = 5.0, 0.01


@dataclass(kw_only=True)
class Forwarded:
    """One unit. Its methods are called by many threads."""

    address: ClusterAddress
    place: Place
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
            held.enter_context(explained(self.place.namespace))
            opened = held.enter_context(Namespace(self.address, self.place.namespace))
            stream = opened.pod_socket(self._ready_pod(opened), port)
            held.callback(_end, stream)
            return stream, held.pop_all().close

    def has_ended(self) -> bool:
        """Whether the unit is over, or gone."""
        with explained(self.place.namespace), Namespace(self.address, self.place.namespace) as opened:
            owner = opened.found(self.place.kind, self.place.name)
            return owner is None or self.place.status(owner, opened).state.is_ended

    def rest_if_idle(self) -> None:
        """End its pods when nobody was connected for as long as it was told."""
        with self._lock:
            if self.idle_seconds is None or self._open or time.monotonic() - self._last_used < self.idle_seconds:
                return
            with explained(self.place.namespace), Namespace(self.address, self.place.namespace) as opened:
                owner = opened.found(self.place.kind, self.place.name)
                if owner is not None and not self.place.is_idle(owner):
                    change = {"metadata": {"annotations": {IDLE: "true"}}, "spec": self.place.without_pods}
                    opened.change(self.place.kind, self.place.name, change)

    def _ready_pod(self, opened: Namespace) -> str:
        with self._lock:
            owner = opened.found(self.place.kind, self.place.name)
            if owner is not None and self.place.is_idle(owner):
                change = {"metadata": {"annotations": {IDLE: None}}, "spec": self.place.with_pods}
                opened.change(self.place.kind, self.place.name, change)
        end = time.monotonic() + _WAKE_SECONDS
        while time.monotonic() < end:
            ready = [pod for pod in self.place.pods(opened) if is_ready(pod)]
            if ready:
                return str(ready[-1].metadata.name)
            owner = opened.found(self.place.kind, self.place.name)
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
