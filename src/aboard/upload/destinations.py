# SPDX-License-Identifier: Apache-2.0
"""Several destinations for the same files, side by side: the trouble of one does not delay the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from aboard.model.states import RunState
from aboard.upload.uploader import Uploader, UploadState


class Destinations:
    """Shippers of one run, each with a store and a journal of its own; the first is the one that counts."""

    def __init__(self, shippers: Sequence[Uploader]) -> None:
        self.shippers = tuple(shippers)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Ship in the background, each on its own thread."""
        for place, shipper in enumerate(self.shippers):
            thread = threading.Thread(target=shipper.run, args=(self._stop,), name=f"aboard-ship-{place}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish(self, status: RunState | str, timeout: float | None = None) -> list[UploadState]:
        """Finish all of them within the same time; what each has left."""
        end = None if timeout is None else time.monotonic() + timeout
        self._stop.set()
        states: list[UploadState | None] = [None] * len(self.shippers)

        def finish_one(place: int) -> None:
            states[place] = self.shippers[place].finish(status, None if end is None else end - time.monotonic())

        threads = [threading.Thread(target=finish_one, args=(place,)) for place in range(len(self.shippers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [state or shipper.state for state, shipper in zip(states, self.shippers, strict=True)]
