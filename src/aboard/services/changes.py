# SPDX-License-Identifier: Apache-2.0
"""What changed lately, for all who watch: one bus in the process, to which other processes may be bridged.

The bus keeps the last few thousand changes and no queue for anybody: each watcher remembers how far it has come, and
one that was left behind is told to look at everything anew.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from aboard.errors import ServerUnavailable

_KEPT = 10_000
_MOST_WATCHERS = 2000


@dataclass(frozen=True, slots=True)
class Change:
    """Something that changed. `workspace` says who may hear of it; empty: everybody.

    Who may not look into all workspaces `beside` it either hears nothing.
    """

    number: int
    kind: str
    """run, board, …"""
    workspace: str
    facts: Mapping[str, object]
    beside: tuple[str, ...] = ()


class News(NamedTuple):
    """What came behind a position, and the new position; `is_whole` is False where something was missed."""

    changes: list[Change]
    position: int
    is_whole: bool


class Changes:
    """The bus. Safe to use from any thread."""

    def __init__(self, *, kept: int = _KEPT, most_watchers: int = _MOST_WATCHERS) -> None:
        self._kept: deque[Change] = deque(maxlen=kept)
        self._most_watchers = most_watchers
        self._lock = threading.Lock()
        self._position = 0
        self._watchers: dict[int, Callable[[], None]] = {}
        self._next_watcher = 0
        self._is_closed = False
        self._passed_on: Callable[[Change], None] | None = None
        self._life = secrets.token_hex(6)  # positions of another process, or of another life, mean nothing here

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will come."""
        return self._is_closed

    @property
    def watcher_count(self) -> int:
        """How many watch."""
        return len(self._watchers)

    def tell(self, kind: str, workspace: str, facts: Mapping[str, object], *, beside: tuple[str, ...] = ()) -> None:
        """Let all watchers know of a change, those of other processes too."""
        change = self.tell_heard(kind, workspace, facts, beside)
        if self._passed_on is not None:
            self._passed_on(change)

    def tell_heard(
        self, kind: str, workspace: str, facts: Mapping[str, object], beside: tuple[str, ...] = ()
    ) -> Change:
        """Let the watchers of this process know of a change."""
        with self._lock:
            self._position += 1
            change = Change(self._position, kind, workspace, facts, beside)
            self._kept.append(change)
            watchers = list(self._watchers.values())
        for wake in watchers:
            wake()
        return change

    def pass_on(self, to: Callable[[Change], None]) -> None:
        """Have changes of this process told elsewhere; `to` must not wait for anything."""
        self._passed_on = to

    def miss(self) -> None:
        """Something may have been missed: all watchers are to look at everything anew."""
        with self._lock:
            self._kept.clear()
            self._position += 1
            watchers = list(self._watchers.values())
        for wake in watchers:
            wake()

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called, from any thread, when there may be news; what is returned ends that."""
        with self._lock:
            if len(self._watchers) >= self._most_watchers:
                raise ServerUnavailable(
                    f"{self._most_watchers} watch this server already", hint="ask again later, or poll"
                )
            watcher = self._next_watcher
            self._next_watcher += 1
            self._watchers[watcher] = wake

        def end() -> None:
            with self._lock:
                self._watchers.pop(watcher, None)

        return end

    def since(self, position: int) -> News:
        """All that came behind a position."""
        with self._lock:
            missed = self._position - position
            if missed < 0 or missed > len(self._kept):
                return News([], self._position, False)
            kept = len(self._kept)
            return News([self._kept[kept - missed + at] for at in range(missed)], self._position, True)

    def position_of(self, text: str) -> int | None:
        """The position that `text_of` made; None when it is of another life of the server."""
        life, _, number = text.partition("-")
        is_number = number.isascii() and number.isdecimal() and len(number) < 18
        return int(number) if life == self._life and is_number else None

    def text_of(self, position: int) -> str:
        """A position as a watcher can keep it."""
        return f"{self._life}-{position}"

    @property
    def position(self) -> int:
        """That of the last change."""
        return self._position

    def close(self) -> None:
        """Let all watchers go."""
        self._is_closed = True
        with self._lock:
            watchers = list(self._watchers.values())
        for wake in watchers:
            wake()
