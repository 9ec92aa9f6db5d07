# SPDX-License-Identifier: Apache-2.0
"""One attempt while it lives: its files are shipped, its facts added up, its machine measured."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aboard.errors import AboardError
from aboard.model.metric_summary import MetricSummary
from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.model.uid import uid_time
from aboard.run.environment import RunPlace
from aboard.run.facts import FactLog
from aboard.run.secrets import Secrets
from aboard.run.supervisor.destination import Destination
from aboard.run.supervisor.event_metrics import EventMetrics
from aboard.run.supervisor.found_folders import FoundFolders
from aboard.run.supervisor.own_files import OwnFiles
from aboard.run.supervisor.process_tree import ProcessTree
from aboard.run.supervisor.resource_use import ResourceUse
from aboard.run.supervisor.run_summary import RunSummary
from aboard.run.supervisor.shipping import Shipping, write_progress
from aboard.store.uri import parse_uri
from aboard.upload import ShippingState

_log = logging.getLogger("aboard.run")
_LOOK_SECONDS = 1.0
_CLOCK_GRAIN = 0.05
"""Times of files may lag behind the clock by so many seconds."""


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended."""

    status: RunState
    reason: str = ""
    exit_code: int | None = None
    is_final: bool = False
    """Whether its end was wanted, so that nobody starts it again."""

    @property
    def may_go_on(self) -> bool:
        """Whether another attempt could mend it."""
        return self.status is RunState.FAILED and not self.is_final


class LiveAttempt:
    """Ships an attempt from `start` to `finish`."""

    def __init__(
        self,
        place: RunPlace,
        destination: Destination,
        secrets: Secrets,
        *,
        resources_every: float,
        finds_folders: bool = False,
    ) -> None:
        self._place = place
        self._finds_folders = finds_folders
        self._begun = time.time() - _CLOCK_GRAIN
        self._resources_every = resources_every
        self.summary = RunSummary(place.spool, secrets, self._metric_summaries)
        self.summary.look()
        facts, known = FactLog(place.spool), self.summary.own_files
        has_shared = bool(destination.shared) or finds_folders
        self._own = OwnFiles(destination.shared, facts, known) if has_shared else None
        self._found: FoundFolders | None = None
        self._metrics = self._event_metrics(destination)
        self._shipping = Shipping(destination, self.summary.now, self._accept)
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="aboard-keeper", daemon=True)
        self._tree: ProcessTree | None = None
        self._resources: ResourceUse | None = None
        self._disk_problem: OSError | None = None

    @property
    def states(self) -> list[ShippingState]:
        """How far each destination has got."""
        return self._shipping.states

    def start(self, started: datetime) -> None:
        """Begin to ship."""
        self.summary.began(started)
        self._shipping.start()
        self._keeper.start()

    def command_started(self, pid: int) -> None:
        """Measure a process and those below it, and take the event files that they make in shared folders."""
        self._tree = tree = ProcessTree(pid)
        if self._own:
            self._own.watch(tree, self._begun)
        if self._finds_folders:
            self._found = FoundFolders(Path.cwd(), self._begun, self._known_folders())
        begun = uid_time(self._place.uid).timestamp()
        self._resources = ResourceUse(self._place.tensorboard, tree, begun=begun, interval=self._resources_every)
        self._resources.start()

    def finish(
        self, outcome: Outcome, timeout: float, waiting: Callable[[list[ShippingState]], None] = lambda _: None
    ) -> list[ShippingState]:
        """Ship the rest; `waiting` is told every second how far that is."""
        if self._resources:
            self._resources.stop()
        self._stop.set()
        self._keeper.join()
        self._keep_going(self._look_and_write)
        self.summary.ended(now(), outcome.exit_code, outcome.reason)
        ending = threading.Thread(target=self._shipping.finish, args=(outcome.status, timeout), daemon=True)
        ending.start()
        while ending.is_alive():
            ending.join(_LOOK_SECONDS)
            if ending.is_alive():
                waiting(self.states)
        states = self.states
        self._keep_going(lambda: self._write_progress(is_over=True))
        return states

    def _event_metrics(self, destination: Destination) -> EventMetrics:
        folders: dict[Path, Callable[[Path], bool]] = {destination.output: _all}
        folders |= dict.fromkeys(destination.watched, _all)
        return EventMetrics(folders | dict.fromkeys(destination.shared, self._accept))

    def _known_folders(self) -> list[Path]:
        """Whose files are shipped, or must not be: stores in a folder of this machine, and aboard's own files."""
        destination = self._shipping.destination
        stores = [path for uri in (destination.store, *destination.mirrors) if (path := parse_uri(uri).path)]
        spools = destination.folder.parent
        return [destination.output, *destination.watched, *destination.shared, *stores, spools]

    def _metric_summaries(self) -> dict[str, MetricSummary]:
        return self._metrics.summaries()

    def _accept(self, path: Path) -> bool:
        return self._own is not None and self._own.accept(path)

    def _keep(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            self._keep_going(self._look_and_write)

    def _look_and_write(self) -> None:
        self._look()
        self._write_progress(is_over=False)

    def _keep_going(self, work: Callable[[], None]) -> None:
        """Do a piece of work; a disk that fails is said once and keeps the command from nothing."""
        try:
            work()
        except OSError as error:
            if self._disk_problem is None:
                _log.warning("%s", _disk_problem(error, self._place.spool))
            self._disk_problem = error
        except Exception:
            _log.exception("A mistake in aboard; the run goes on.")
        else:
            if self._disk_problem is not None:
                _log.warning("%s can be written again.", self._place.spool)
            self._disk_problem = None

    def _look(self) -> None:
        live = self._tree.look() if self._tree else []
        self.summary.look()
        known = self._shipping.destination.watched
        for folder in [one for one in self.summary.watched if one not in known]:
            self._shipping.watch(folder)
            self._metrics = self._event_metrics(self._shipping.destination)
        if self._found:
            for folder in self._found.look(live, self._shipping.destination.watched):
                self._shipping.share(folder)
                self._metrics = self._event_metrics(self._shipping.destination)

    def _write_progress(self, *, is_over: bool) -> None:
        write_progress(self._place.spool, self.states, attempt=self._place.attempt, has_begun=True, is_over=is_over)


def _disk_problem(error: OSError, folder: Path) -> str:
    """What happens with a run whose disk fails, and what to do."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return (
            f"The disk with {folder} is full. The command goes on. Metrics wait in memory until there is space; other "
            "files that do not fit are lost. Free some space on that disk."
        )
    reason = error.message if isinstance(error, AboardError) else f"{error}."
    return f"{reason} The command goes on, and aboard tries again."


def _all(_: Path) -> bool:
    return True
