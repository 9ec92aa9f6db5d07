# SPDX-License-Identifier: Apache-2.0
"""One attempt of a run: uploads its files, collects its facts, samples the machine, and flushes at the end."""

from __future__ import annotations

import errno
import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType

from aboard.errors import AboardError
from aboard.model.names import uid_time
from aboard.model.runs import MetricSummary
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.run.environment import RunContext
from aboard.run.secrets import Secrets
from aboard.run.spool import FactLog
from aboard.run.supervisor.command import ProcessTree
from aboard.run.supervisor.console import Console
from aboard.run.supervisor.context import ResourceUse
from aboard.run.supervisor.event_files import FolderDiscovery, OwnFiles
from aboard.run.supervisor.summary import EventMetrics, RunSummary
from aboard.run.supervisor.uploads import AttemptUpload, Destination, is_complete, write_progress
from aboard.store.uri import parse_uri
from aboard.upload.uploader import UploadState

_log = logging.getLogger("aboard.run")
_LOOK_SECONDS = 1.0
_CLOCK_GRAIN = 0.05
"""Times of files may lag behind the clock by so many seconds."""


@dataclass(frozen=True)
class Outcome:
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
        place: RunContext,
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
        self._found: FolderDiscovery | None = None
        self._metrics = self._event_metrics(destination)
        self._upload = AttemptUpload(destination, self.summary.now, self._accept)
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="aboard-keeper", daemon=True)
        self._tree: ProcessTree | None = None
        self._resources: ResourceUse | None = None
        self._disk_problem: OSError | None = None

    @property
    def states(self) -> list[UploadState]:
        """How far each destination has got."""
        return self._upload.states

    def start(self, started: datetime) -> None:
        self.summary.began(started)
        self._upload.start()
        self._keeper.start()

    def command_started(self, pid: int) -> None:
        """Measure a process and those below it, and take the event files that they make in shared folders."""
        self._tree = tree = ProcessTree(pid)
        if self._own:
            self._own.watch(tree, self._begun)
        if self._finds_folders:
            self._found = FolderDiscovery(Path.cwd(), self._begun, self._known_folders())
        begun = uid_time(self._place.uid).timestamp()
        self._resources = ResourceUse(self._place.tensorboard, tree, begun=begun, interval=self._resources_every)
        self._resources.start()

    def finish(
        self, outcome: Outcome, timeout: float, waiting: Callable[[list[UploadState]], None] = lambda _: None
    ) -> list[UploadState]:
        """Ship the rest; `waiting` is told every second how far that is."""
        if self._resources:
            self._resources.stop()
        self._stop.set()
        self._keeper.join()
        self._keep_going(self._look_and_write)
        self.summary.ended(now(), outcome.exit_code, outcome.reason)
        ending = threading.Thread(target=self._upload.finish, args=(outcome.status, timeout), daemon=True)
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
        destination = self._upload.destination
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
        known = self._upload.destination.watched
        for folder in [one for one in self.summary.watched if one not in known]:
            self._upload.watch(folder)
            self._metrics = self._event_metrics(self._upload.destination)
        if self._found:
            for folder in self._found.look(live, self._upload.destination.watched):
                self._upload.share(folder)
                self._metrics = self._event_metrics(self._upload.destination)

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


_SAY_SECONDS = 5.0
RESTART_SECONDS = 10.0
FAILING_STORE_SECONDS = 1.0


class _AskedToEnd(Exception):
    """Nobody waits any more for an end that is not the last one."""


class FinalFlush:
    """Ships the rest. Ctrl-C stops waiting; a scheduler that asks to end is not heard, because that is what it does.

    Where the command is to be started again, both are heard by the command's own handlers, and end the waiting.
    """

    def __init__(
        self, live: LiveAttempt, destination: Destination, console: Console, timeout: float, *, must_ship: bool = False
    ) -> None:
        self._live = live
        self._must_ship = must_ship
        self._destination = destination
        self._console = console
        self._timeout = timeout
        self._goes_on = False
        self._is_asked: Callable[[], bool] = lambda: False
        self._say_time = time.monotonic() + _SAY_SECONDS

    def hurry(self, is_asked: Callable[[], bool]) -> None:
        """The command is to be started again, and what is not shipped by then is shipped while it runs.

        `is_asked` says whether somebody wants the end meanwhile: another flush is then to tell of that.
        """
        self._goes_on, self._is_asked = True, is_asked
        store_fails = any(state.error for state in self._live.states)
        self._timeout = min(self._timeout, FAILING_STORE_SECONDS if store_fails else RESTART_SECONDS)

    def run(self, place: RunContext, outcome: Outcome) -> bool:
        """Ship, and say how it went; whether nothing is left."""
        self._say_time = time.monotonic() + 1
        if not self._goes_on and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, _stop_waiting)
        try:
            states = self._live.finish(outcome, self._timeout, self._waiting)
        except _AskedToEnd:
            return False
        except KeyboardInterrupt:
            states = self._live.states
        how = f"{place.name} {outcome.status}" + (f" ({outcome.reason})" if outcome.reason else "")
        if is_complete(states):
            self._console.say(f"{how}; {states[0]}")
            return True
        has_left = False
        for state in states:
            if state.is_superseded:
                self._console.warn(f"{how}; a later attempt has taken the run, so nothing more was shipped from here")
            elif state.files_left or not state.is_sealed:
                has_left = True
                self._console.warn(f"{how}; {state}")
                if not self._goes_on:
                    self._console.warn(self._advice())
        return not has_left

    def _advice(self) -> str:
        if self._must_ship:
            return "that is lost when this disk is; the run has failed"
        return f"everything is kept here; finish it with: aboard sync {self._destination.folder}"

    def _waiting(self, states: list[UploadState]) -> None:
        if self._is_asked():
            raise _AskedToEnd
        if time.monotonic() >= self._say_time:
            self._say_time = time.monotonic() + _SAY_SECONDS
            hint = "" if self._goes_on else " (Ctrl-C stops waiting)"
            self._console.say(f"shipping what is left: {'; '.join(map(str, states))}{hint}")


def _stop_waiting(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
