# SPDX-License-Identifier: Apache-2.0
"""Ships one attempt of a run to all its destinations in the background, and tells how far that is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from aboard.model.run_states import RunState
from aboard.run.local_json import write_json
from aboard.run.spool_files import PROGRESS
from aboard.run.supervisor.destination import Destination
from aboard.store.run.summary import Summary
from aboard.upload import Shipper, ShippingState


class Shipping:
    """The shippers of one attempt."""

    def __init__(
        self, destination: Destination, summary: Callable[[], Summary | None], accept: Callable[[Path], bool]
    ) -> None:
        self._summary = summary
        self._accept = accept
        self._destination = destination
        self._stores = destination.stores()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._shippers = self._make()
        self._is_finishing = False

    @property
    def destination(self) -> Destination:
        """Where the files are and where they go."""
        return self._destination

    @property
    def states(self) -> list[ShippingState]:
        """How far each destination has got; costs no request."""
        return [shipper.state for shipper in self._shippers]

    @property
    def ended(self) -> RunState | None:
        """How the run ended, as far as was noted on this machine."""
        return self._shippers[0].ended

    def start(self) -> None:
        """Ship from now on."""
        self._stop = threading.Event()
        for place, shipper in enumerate(self._shippers):
            thread = threading.Thread(target=shipper.run, args=(self._stop,), name=f"aboard-ship-{place}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def watch(self, folder: Path) -> None:
        """Ship the event files of one more folder."""
        if folder not in self._destination.watched:
            self._change(self._destination.watching(folder))

    def share(self, folder: Path) -> None:
        """Ship those event files of one more folder that `accept` takes."""
        if folder not in self._destination.shared:
            self._change(self._destination.sharing(folder))

    def _change(self, destination: Destination) -> None:
        with self._lock:
            if self._is_finishing:
                return
            self._destination = destination
            self._destination.write()
            self._pause()
            self._shippers = self._make()
            self.start()

    def finish(self, status: RunState | None, timeout: float) -> list[ShippingState]:
        """Ship the rest within a time limit and seal the run; what each destination then has."""
        with self._lock:
            self._is_finishing = True
        self._stop.set()
        end = time.monotonic() + timeout
        threads = [
            threading.Thread(target=shipper.finish, args=(status, timeout), name="aboard-ship-end", daemon=True)
            for shipper in self._shippers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end + 1 - time.monotonic()))
        return self.states

    def _make(self) -> list[Shipper]:
        spool = self._destination.spool(self._accept)
        return [Shipper(spool, store, journal=journal, summary=self._summary) for journal, store in self._stores]

    def _pause(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def is_complete(states: list[ShippingState]) -> bool:
    """Whether every destination has everything, and knows that there is no more."""
    return all(state.is_sealed and not state.files_left for state in states)


def write_progress(folder: Path, states: list[ShippingState], **more: object) -> None:
    """Tell other processes how far shipping is."""
    write_json(
        folder / PROGRESS,
        {
            "format": "aboard-progress",
            "version": [1, 0],
            "time": time.time(),
            "text": "; ".join(map(str, states)),
            "left": sum(state.files_left for state in states),
            "bytes_left": sum(state.bytes_left for state in states),
            "is_sealed": bool(states) and is_complete(states),
            **more,
        },
    )
