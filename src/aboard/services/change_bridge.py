# SPDX-License-Identifier: Apache-2.0
"""Joins the buses of several server processes: what changes through one is told to those who watch another.

One process follows each store, so what it finds there is sent to the others too. When something may have been missed,
watchers are told to look at everything anew.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any

from aboard.catalog.notices import LARGEST, Notices
from aboard.errors import CatalogUnavailable
from aboard.services.changes import Change, Changes

_log = logging.getLogger("aboard.services")
_MOST_WAITING = 1000
_MOST_AT_ONCE = 100
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
PEOPLE, ALIVE, TRIES = "people", "alive", "tries"
"""For servers alone: rights of people have changed, a run gave a sign of life, somebody tried what opens nothing."""

Heard = Callable[[str, Mapping[str, Any]], None]


class ChangeBridge:
    """Two threads: one sends, one hears. `heard` is told what changed through other processes."""

    def __init__(self, notices: Notices, changes: Changes, heard: Heard) -> None:
        self._notices, self._changes, self._heard = notices, changes, heard
        self._own = secrets.token_hex(6)
        self._waiting: queue.Queue[str] = queue.Queue(_MOST_WAITING)
        self._has_dropped = False
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for work, name in ((self._send, "aboard-changes-out"), (self._hear, "aboard-changes-in"))
        ]

    def start(self) -> None:
        """Begin."""
        self._changes.pass_on(self._take)
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """End."""
        self._stopped.set()
        self._put("")
        for thread in self._threads:
            thread.join(seconds)

    def tell_servers(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Let other processes know what no client is told."""
        self._put(json.dumps({"from": self._own, "kind": kind, "facts": facts}))

    def _take(self, change: Change) -> None:
        message = json.dumps(
            {
                "from": self._own,
                "kind": change.kind,
                "workspace": change.workspace,
                "facts": change.facts,
                "beside": change.beside,
            },
            default=str,
        )
        self._put(message if len(message.encode()) <= LARGEST else json.dumps({"from": self._own, "kind": ""}))

    def _put(self, message: str) -> None:
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            self._has_dropped = True

    def _send(self) -> None:
        while not self._stopped.is_set():
            messages = [self._waiting.get()]
            while len(messages) < _MOST_AT_ONCE and not self._waiting.empty():
                messages.append(self._waiting.get())
            if self._has_dropped:
                self._has_dropped = False
                messages.append(json.dumps({"from": self._own, "kind": ""}))
            try:
                self._notices.send([message for message in messages if message])
            except CatalogUnavailable:
                # Who hears has lost the connection too, and looks at everything when it is back.
                self._stopped.wait(_FIRST_PAUSE)
            except Exception:
                _log.exception("Other servers could not be told of changes")
                self._has_dropped = True
                self._stopped.wait(_FIRST_PAUSE)
        with contextlib.suppress(CatalogUnavailable):
            self._notices.wake()  # the other thread would listen for another second

    def _hear(self) -> None:
        pause, is_first = _FIRST_PAUSE, True

        def begun() -> None:
            nonlocal pause, is_first
            if not is_first:
                self._changes.miss()
                self._heard("", {})
            pause, is_first = _FIRST_PAUSE, False

        while not self._stopped.is_set():
            try:
                self._notices.listen(begun, self._take_in, self._stopped.is_set)
            except CatalogUnavailable as error:
                _log.warning("Other servers cannot be heard, which is tried again in %.1f s: %s", pause, error.message)
            except Exception:
                _log.exception("Other servers cannot be heard")
            self._stopped.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _take_in(self, text: str) -> None:
        try:
            message = json.loads(text)
            if message["from"] == self._own:
                return
            kind: str = message["kind"]
            if kind not in ("", PEOPLE, ALIVE, TRIES):
                self._changes.tell_heard(kind, message["workspace"], message["facts"], tuple(message["beside"]))
            elif not kind:
                self._changes.miss()
            self._heard(kind, message.get("facts", {}))
        except (ValueError, KeyError, TypeError):
            _log.warning("Another server said something that is not understood; is it of another version?")
