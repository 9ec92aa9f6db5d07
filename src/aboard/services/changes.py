# SPDX-License-Identifier: Apache-2.0
"""The change bus: what changed in the catalog, for the clients that watch it, within and across server processes.

The bus keeps the last few thousand changes and no queue per watcher. Each watcher remembers its position; a watcher
that falls behind is told to reload everything. Runs are compared with their last known state, so that the bus
carries what changed about them. The bridge joins the buses of several server processes through the catalog: one
process follows each store, and publishes what it finds there to the others. If a message may have been lost, all
watchers reload everything.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from aboard.errors import CatalogUnavailable, ServerUnavailable
from aboard.model.runs import RunRecord

if TYPE_CHECKING:
    from aboard.catalog.coordination import Notices

_KEPT = 10_000
_MOST_WATCHERS = 2000


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """Something that changed. `workspace` says who may hear of it; empty: everybody.

    Who may not look into all workspaces `beside` it either hears nothing.
    """

    number: int
    kind: str
    """run, board, …"""
    workspace: str
    facts: Mapping[str, object]
    beside: tuple[str, ...] = ()


class ChangeBatch(NamedTuple):
    """What came behind a position, and the new position; `is_whole` is False where something was missed."""

    changes: list[ChangeEvent]
    position: int
    is_whole: bool


class ChangeBus:
    """The bus. Safe to use from any thread."""

    def __init__(self, *, kept: int = _KEPT, most_watchers: int = _MOST_WATCHERS) -> None:
        self._kept: deque[ChangeEvent] = deque(maxlen=kept)
        self._most_watchers = most_watchers
        self._lock = threading.Lock()
        self._position = 0
        self._watchers: dict[int, Callable[[], None]] = {}
        self._next_watcher = 0
        self._is_closed = False
        self._passed_on: Callable[[ChangeEvent], None] | None = None
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
    ) -> ChangeEvent:
        """Let the watchers of this process know of a change."""
        with self._lock:
            self._position += 1
            change = ChangeEvent(self._position, kind, workspace, facts, beside)
            self._kept.append(change)
            watchers = list(self._watchers.values())
        for wake in watchers:
            wake()
        return change

    def pass_on(self, to: Callable[[ChangeEvent], None]) -> None:
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

    def since(self, position: int) -> ChangeBatch:
        """All that came behind a position."""
        with self._lock:
            missed = self._position - position
            if missed < 0 or missed > len(self._kept):
                return ChangeBatch([], self._position, False)
            kept = len(self._kept)
            return ChangeBatch([self._kept[kept - missed + at] for at in range(missed)], self._position, True)

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


_REMEMBERED = 50_000


class _Known(NamedTuple):
    workspace: str
    is_deleted: bool
    status: str
    metrics: int
    document: int


class RunChangePublisher:
    """Publishes what changed about runs; it remembers those that changed last. Safe to use from any thread."""

    def __init__(self, changes: ChangeBus) -> None:
        self._changes = changes
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def tell(self, runs: Sequence[RunRecord], was_known: bool = False) -> None:
        """Runs as they are in the catalog now; `was_known`: those of which nothing is remembered here are not new."""
        for run in runs:
            with self._lock:
                before, now = self._known.get(run.uid), _known(run)
                self._known[run.uid] = now
                self._known.move_to_end(run.uid)
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            unknown = ["document"] if was_known else ["seen"]
            changed = unknown if before is None else _changed(before, now)
            if before is not None and before.workspace != now.workspace:
                self._changes.tell("run", before.workspace, {**_facts(run), "workspace": None, "changed": ["moved"]})
            if changed:
                self._changes.tell("run", run.workspace, {**_facts(run), "changed": changed})

    def tell_purged(self, run: RunRecord) -> None:
        """A run that is gone for good."""
        with self._lock:
            self._known.pop(run.uid, None)
        self._changes.tell("run", run.workspace, {**_facts(run), "deleted": True, "changed": ["purged"]})


def _known(run: RunRecord) -> _Known:
    metrics = hash(tuple((name, one.last, one.count) for name, one in sorted(run.metrics.items())))
    others = run.name, run.experiment, sorted(run.tags.items()), run.notes, run.attempts, sorted(map(str, run.hparams))
    return _Known(run.workspace, run.deleted is not None, str(run.status), metrics, hash(repr(others)))


def _changed(before: _Known, now: _Known) -> list[str]:
    changed: list[str] = []
    if before.is_deleted != now.is_deleted:
        changed.append("deleted" if now.is_deleted else "restored")
    if before.status != now.status:
        changed.append("status")
    if before.metrics != now.metrics:
        changed.append("metrics")
    if before.document != now.document or before.workspace != now.workspace:
        changed.append("document")
    return changed


def _facts(run: RunRecord) -> dict[str, object]:
    return {
        "uid": run.uid,
        "number": run.number,
        "name": run.name,
        "workspace": run.workspace,
        "experiment": run.experiment_number,
        "status": str(run.status),
        "deleted": run.deleted is not None,
    }


_log = logging.getLogger("aboard.services")
_MOST_WAITING = 1000
_MOST_AT_ONCE = 100
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
PEOPLE, ALIVE, TRIES = "people", "alive", "tries"
"""Only between servers: permissions changed, a run sent a heartbeat, a login attempt failed."""

OnRemoteChange = Callable[[str, Mapping[str, Any]], None]


class ChangeBridge:
    """Two threads: one sends, one hears. `heard` is told what changed through other processes."""

    def __init__(self, notices: Notices, changes: ChangeBus, heard: OnRemoteChange) -> None:
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

    def _take(self, change: ChangeEvent) -> None:
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
        self._put(
            message if len(message.encode()) <= self._notices.largest else json.dumps({"from": self._own, "kind": ""})
        )

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
